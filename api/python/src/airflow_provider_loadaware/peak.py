"""Where the measured peak of a try comes from.

None or "termination-message" .. the base container's termination message, as JSON:
                                 {"memory_max_bytes": 7340032000, "cpu_max_cores": 1.02}
                                 or such an object as its last line, behind what the program says
a callable of (pod, context) ... bytes, a quantity such as "7Gi", such a mapping, or None
"none" ......................... nothing is measured: the report is censored
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from airflow_provider_loadaware.grant import MOST, MOST_CORES
from airflow_provider_loadaware.quantity import parse_bytes

PeakSource: TypeAlias = Callable[[Any, Any], Any] | Literal["termination-message", "none"] | None


@dataclass(frozen=True)
class Peak:
    """Bytes and cores; None is not measured."""

    memory_bytes: int | None = None
    cpu_cores: float | None = None


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
    return Peak(memory_bytes=_memory(memory), cpu_cores=_cores(value.get("cpu_max_cores")))


def _memory(value: Any) -> int | None:
    try:
        count = parse_bytes(value)
    except ValueError:
        return None
    return count if 0 < count <= MOST else None


def _cores(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= MOST_CORES else None
