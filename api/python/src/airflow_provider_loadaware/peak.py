"""Sources of the measured peak of a try.

None or "termination-message" .. the base container's termination message, as JSON:
                                 {"memory_max_bytes": 7340032000, "cpu_max_cores": 1.02}
                                 or the same object as the last line, after the program's own text;
                                 or only a number of bytes, or a quantity as a JSON string;
                                 a "series" from loadaware-peak is forwarded
a callable of (pod, context) ... returns bytes, a quantity such as "7Gi", a mapping with these keys,
                                 or None
"none" ......................... no measurement: the report has no peak
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from airflow_provider_loadaware.grant import MAX_BYTES, MAX_CORES
from airflow_provider_loadaware.quantity import parse_bytes

PeakSource: TypeAlias = Callable[[Any, Any], Any] | Literal["termination-message", "none"] | None

_MAX_POINTS, _MIN_STEP, _MAX_STEP = 120, 0.001, 315_360_000  # limits of the server; steps in seconds


@dataclass(frozen=True)
class Peak:
    """Bytes and cores; None means not measured. The series has the format of POST /observe."""

    memory_bytes: int | None = None
    cpu_cores: float | None = None
    series: dict[str, Any] | None = None


def measure(source: PeakSource, pod: Any, message: str | None, context: Any) -> Peak:
    """Return the peak of a try. Exceptions of a callable propagate; invalid values count as not measured."""
    if source == "none":
        return Peak()
    if callable(source):
        return _peak(source(pod, context))
    text = (message or "").strip()
    whole, last = _json(text), _json(text.rpartition("\n")[2])
    # A bare number is a peak only if it is the whole message; as a last line it may be anything.
    return _peak(last if whole is None and isinstance(last, Mapping) else whole)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _peak(value: Any) -> Peak:
    if not isinstance(value, Mapping):
        return Peak(memory_bytes=_memory(value))
    memory = value.get("memory_max_bytes", value.get("memory_max"))
    return Peak(_memory(memory), _cores(value.get("cpu_max_cores")), _series(value.get("series")))


def _series(value: Any) -> dict[str, Any] | None:
    """Convert MiB to bytes. An invalid step or memory value drops the series, an invalid CPU value only the CPU values.

    The server would reject a report that contains such a value.
    """
    if not isinstance(value, Mapping):
        return None
    step, memory, cpu = value.get("step_seconds"), value.get("memory_mib"), value.get("cpu_cores")
    if not isinstance(memory, list) or not 1 <= len(memory) <= _MAX_POINTS:
        return None
    if not _is_in_range(step, _MAX_STEP, minimum=_MIN_STEP):
        return None
    if not all(isinstance(mib, int) and _is_in_range(mib, MAX_BYTES >> 20) for mib in memory):
        return None
    series = {"step_seconds": step, "memory_bytes": [mib << 20 for mib in memory]}
    if isinstance(cpu, list) and len(cpu) == len(memory) and all(_is_in_range(cores, MAX_CORES) for cores in cpu):
        series["cpu_cores"] = cpu
    return series


def _is_in_range(value: Any, maximum: float, minimum: float = 0) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and minimum <= value <= maximum


def _memory(value: Any) -> int | None:
    try:
        count = parse_bytes(value)
    except ValueError:
        return None
    return count if 0 < count <= MAX_BYTES else None


def _cores(value: Any) -> float | None:
    return float(value) if _is_in_range(value, MAX_CORES) else None
