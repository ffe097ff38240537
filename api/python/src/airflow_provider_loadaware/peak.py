"""Where the measured peak of a try comes from.

None or "termination-message" .. the base container's termination message, as JSON:
                                 {"memory_max_bytes": 7340032000, "cpu_max_cores": 1.02}
                                 or such an object as its last line, behind what the program says;
                                 a "series" in it, as loadaware-peak writes one, is passed on
a callable of (pod, context) ... bytes, a quantity such as "7Gi", such a mapping, or None
"none" ......................... nothing is measured: the report is censored
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from airflow_provider_loadaware.grant import MOST, MOST_CORES
from airflow_provider_loadaware.quantity import parse_bytes

PeakSource: TypeAlias = Callable[[Any, Any], Any] | Literal["termination-message", "none"] | None

_POINTS, _SHORTEST, _LONGEST = 120, 0.001, 315_360_000  # points, and seconds of a step, that are taken


@dataclass(frozen=True)
class Peak:
    """Bytes and cores; None is not measured. The series is as POST /observe takes it."""

    memory_bytes: int | None = None
    cpu_cores: float | None = None
    series: dict[str, Any] | None = None


def measure(source: PeakSource, pod: Any, message: str | None, context: Any) -> Peak:
    """The peak of a try. Whatever a callable raises is raised; nonsense is not measured."""
    if source == "none":
        return Peak()
    if callable(source):
        return _peak(source(pod, context))
    text = (message or "").strip()
    whole, last = _json(text), _json(text.rpartition("\n")[2])
    # A number is a peak where it is all that there is; in a last line it may be anything.
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
    """MiB as bytes. One bad point spoils all: a series that is refused would take its report along."""
    if not isinstance(value, Mapping):
        return None
    step, memory, cpu = value.get("step_seconds"), value.get("memory_mib"), value.get("cpu_cores")
    if not isinstance(memory, list) or not 1 <= len(memory) <= _POINTS or not _within(step, _LONGEST, least=_SHORTEST):
        return None
    if not all(isinstance(mib, int) and _within(mib, MOST >> 20) for mib in memory):
        return None
    series = {"step_seconds": step, "memory_bytes": [mib << 20 for mib in memory]}
    if isinstance(cpu, list) and len(cpu) == len(memory) and all(_within(cores, MOST_CORES) for cores in cpu):
        series["cpu_cores"] = cpu
    return series


def _within(value: Any, most: float, least: float = 0) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def _memory(value: Any) -> int | None:
    try:
        count = parse_bytes(value)
    except ValueError:
        return None
    return count if 0 < count <= MOST else None


def _cores(value: Any) -> float | None:
    return float(value) if _within(value, MOST_CORES) else None
