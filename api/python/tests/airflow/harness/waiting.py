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
