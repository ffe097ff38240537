"""Waiting with a timeout."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(what: str, poll: Callable[[], T | None], seconds: float = 120, every: float = 0.2) -> T:
    """Return the first result of `poll` that is neither None nor False. Raises AssertionError on timeout."""
    until = time.monotonic() + seconds
    while True:
        found = poll()
        if found is not None and found is not False:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"timeout: waited {seconds:.0f} s for {what}")
        time.sleep(every)


def wait_for_progress(what: str, poll: Callable[[], T], end: T, seconds: float = 300, every: float = 0.5) -> None:
    """Wait until `poll` returns `end`. Raises AssertionError when its result has not changed for `seconds`.

    The time that a whole campaign takes depends on the load of the machine; a campaign that is stuck does not change.
    """
    last, changed = poll(), time.monotonic()
    while last != end:
        time.sleep(every)
        found = poll()
        if found != last:
            last, changed = found, time.monotonic()
        elif time.monotonic() > changed + seconds:
            raise AssertionError(f"timeout: {what} has stayed at {last} for {seconds:.0f} s")
