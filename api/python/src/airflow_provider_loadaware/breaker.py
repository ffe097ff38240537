"""A circuit breaker that works across processes.

    closed --(3 consecutive failures)--> open for 30 s --> half-open: a failure opens it, an answer closes it

Each try is a process, so a small file stores the count. Processes that write at the same time may lose
failures; then the circuit opens later, which is harmless.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from airflow_provider_loadaware import state

FAILURES = 3  # one broken connection does not open the circuit
OPEN_SECONDS = 30.0  # a longer time delays the first prediction after an outage


class Breaker:
    """Counts consecutive failures in the file `path`; without a path it never opens."""

    def __init__(self, path: Path | None, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now

    def is_open(self) -> bool:
        """Return whether recent failures block requests."""
        until = self._read()[1]
        # A time above this range means a corrupt file or a clock that was set back; it blocks no requests.
        return self._now() < until <= self._now() + 2 * OPEN_SECONDS

    def record_success(self) -> None:
        """Close the circuit after an answer; a 4xx is an answer too."""
        if self._path is not None and self._read()[0]:
            state.remove(self._path)

    def record_failure(self) -> None:
        """Count a request without a valid answer. FAILURES such requests in a row open the circuit."""
        if self._path is None:
            return
        failures = self._read()[0] + 1
        until = self._now() + OPEN_SECONDS if failures >= FAILURES else 0.0
        state.write_json(self._path, {"failures": failures, "open_until": until})

    def _read(self) -> tuple[int, float]:
        stored = state.read_json(self._path) if self._path is not None else None
        failures, until = (stored or {}).get("failures"), (stored or {}).get("open_until")
        return (
            failures if isinstance(failures, int) and 0 <= failures < 1 << 31 else 0,
            float(until) if isinstance(until, (int, float)) else 0.0,
        )
