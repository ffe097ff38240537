"""Sources of the measured peak of a try.

None or "termination-message" .. the base container's termination message, as JSON:
                                 {"memory_max_bytes": 7340032000, "cpu_max_cores": 1.02}
                                 or the same object as the last line, after the program's own text;
                                 or only a number of bytes, or a quantity as a JSON string;
                                 a "series" from loadaware-peak is forwarded
a callable of (pod, context) ... returns bytes, a quantity such as "7Gi", a mapping with these keys,
                                 or None
"none" ......................... no measurement: the report has no peak

Bytes and cores are numbers, also of NumPy, or quantities such as "7Gi" and "500m".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from airflow_provider_loadaware.grant import MAX_BYTES, MAX_CORES
from airflow_provider_loadaware.quantity import parse_bytes, parse_cores

PeakSource: TypeAlias = Callable[[Any, Any], Any] | Literal["termination-message", "none"] | None

_Amount = TypeVar("_Amount", int, float)

_MAX_POINTS, _MIN_STEP, _MAX_STEP = 120, 0.001, 315_360_000  # limits of the server; steps in seconds


@dataclass(frozen=True)
class Peak:
    """Bytes and cores; None means not measured. The series has the format of POST /observe."""

    memory_bytes: int | None = None
    cpu_cores: float | None = None
    series: dict[str, Any] | None = None


def measure(source: PeakSource, pod: Any, message: str | None, context: Any, warn: Callable[[str], None]) -> Peak:
    """Return the peak of a try. Exceptions of a callable propagate.

    Invalid values count as not measured. `warn` is called for each invalid amount of memory or CPU.
    """
    if source == "none":
        return Peak()
    if callable(source):
        return _peak(source(pod, context), warn)
    text = (message or "").strip()
    whole, last = _json(text), _json(text.rpartition("\n")[2])
    # A bare number is a peak only if it is the whole message; as a last line it may be anything.
    return _peak(last if whole is None and isinstance(last, Mapping) else whole, warn)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _peak(value: Any, warn: Callable[[str], None]) -> Peak:
    fields = value if isinstance(value, Mapping) else {"memory_max_bytes": value}
    memory = _amount("memory", parse_bytes, fields.get("memory_max_bytes", fields.get("memory_max")), MAX_BYTES, warn)
    cores = _amount("CPU", parse_cores, fields.get("cpu_max_cores"), MAX_CORES, warn)
    return Peak(memory, cores, _series(fields.get("series")))


def _amount(
    resource: str, parse: Callable[[Any], _Amount], value: Any, maximum: float, warn: Callable[[str], None]
) -> _Amount | None:
    """Return a measured amount, or None if it is missing, zero or invalid."""
    if value is None:
        return None
    try:
        amount = parse(value)
    except ValueError as error:
        warn(f"peak of the {resource}: {error}; it counts as not measured")
        return None
    if amount > maximum:
        warn(f"peak of the {resource}: {amount} is above the maximum of {maximum}; it counts as not measured")
        return None
    return amount or None


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
