"""A circuit breaker that works across processes.

    closed --(3 failures in a row)--> open, 30 s --> one more failure opens it again, an answer closes it

Each try is a process, so the count is in a small file. Processes that count at the same time may lose a
failure; then the circuit opens one failure later, which does no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from airflow_provider_loadaware import state

FAILURES = 3
OPEN_SECONDS = 30.0


class Breaker:
    """Counts failures in `path`; without a path it never opens."""

    def __init__(self, path: Path | None, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now

    def is_open(self) -> bool:
        """Whether the server failed so often of late that it is not asked."""
        until = self._read()[1]
        # A time far ahead is garbage, or a clock that was set back: it must not silence us for long.
        return self._now() < until <= self._now() + 2 * OPEN_SECONDS

    def succeeded(self) -> None:
        """An answer came; also a refusal is an answer."""
        if self._path is not None and self._read()[0]:
            state.remove(self._path)

    def failed(self) -> None:
        """No answer came, or one that makes no sense."""
        if self._path is None:
            return
        failures = self._read()[0] + 1
        until = self._now() + OPEN_SECONDS if failures >= FAILURES else 0.0
        state.write_json(self._path, {"failures": failures, "open_until": until})

    def _read(self) -> tuple[int, float]:
        kept = state.read_json(self._path) if self._path is not None else None
        failures, until = (kept or {}).get("failures"), (kept or {}).get("open_until")
        return (
            failures if isinstance(failures, int) and 0 <= failures < 1 << 31 else 0,
            float(until) if isinstance(until, (int, float)) else 0.0,
        )
