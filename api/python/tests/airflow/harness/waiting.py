"""Waiting for something, bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(what: str, look: Callable[[], T | None], seconds: float = 120, every: float = 0.2) -> T:
    """The first answer of look that is neither None nor False. AssertionError when time is up."""
    until = time.monotonic() + seconds
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(every)
