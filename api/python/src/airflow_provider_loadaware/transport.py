"""HTTP that ends in time, whatever the other side does.

A timeout of httpx is one of each read: a server that sends a byte a second holds a caller for ever, and a
resolver that hangs is not timed at all. So a response is cut at a deadline and at a size, and `within` bounds
the whole by waiting on another thread.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import httpx

MOST_BYTES = 8 << 20
_THREAD = "loadaware"
T = TypeVar("T")


class _Cut(httpx.SyncByteStream):
    """A response body that ends with an error once it is late or too large."""

    def __init__(self, stream: httpx.SyncByteStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if size > MOST_BYTES:
                raise httpx.ReadError(f"the answer is larger than {MOST_BYTES} bytes")
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("the answer took too long")
            yield chunk

    def close(self) -> None:
        self._stream.close()


class BoundedTransport(httpx.HTTPTransport):
    """A pool of kept-alive connections whose answers are bounded in time and size."""

    def __init__(self, verify: ssl.SSLContext | bool, total_seconds: float) -> None:
        super().__init__(verify=verify, limits=httpx.Limits(max_connections=4, keepalive_expiry=300))
        self._total = total_seconds

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        deadline = time.monotonic() + self._total
        response = super().handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Cut(response.stream, deadline)
        return response


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns or raises, if it does so in time; else TimeoutError, and `work` is left to itself.

    The thread is a daemon: it must not keep a finished task alive, as the threads of concurrent.futures do.
    """
    outcome: list[Callable[[], T]] = []

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            caught = error
            outcome.append(lambda: _raise(caught))
        else:
            outcome.append(lambda: result)

    thread = threading.Thread(target=run, name=_THREAD, daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    if not outcome:
        raise TimeoutError(f"no answer within {seconds:.1f} s")
    return outcome[0]()


# httpx tells of each request; in the log of a task one line of ours is enough. Others' requests are left alone.
logging.getLogger("httpx").addFilter(lambda record: record.threadName != _THREAD)


def _raise(error: BaseException) -> T:  # type: ignore[type-var]
    raise error
