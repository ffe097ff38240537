"""HTTP with a bound on the total time.

An httpx timeout applies to each read, so a server that sends one byte per second blocks the caller forever;
name resolution has no timeout. BoundedTransport limits a response body in time and size, and `run_with_timeout`
bounds the whole call by running it in another thread.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import httpx

MAX_BYTES = 8 << 20
_THREAD = "loadaware"
T = TypeVar("T")


class _BoundedStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if size > MAX_BYTES:
                raise httpx.ReadError(f"the response is larger than {MAX_BYTES} bytes")
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("the response took too long")
            yield chunk

    def close(self) -> None:
        self._stream.close()


class BoundedTransport(httpx.HTTPTransport):
    """A pool of keep-alive connections whose response bodies are bounded in time and size."""

    def __init__(self, verify: ssl.SSLContext | bool, total_seconds: float) -> None:
        super().__init__(verify=verify, limits=httpx.Limits(max_connections=4, keepalive_expiry=300))
        self._total = total_seconds

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        deadline = time.monotonic() + self._total
        response = super().handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _BoundedStream(response.stream, deadline)
        return response


def run_with_timeout(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`, or raise its exception. After `seconds` raise TimeoutError; `work` then continues.

    `work` runs in a daemon thread, which does not keep a finished task alive, unlike a thread of concurrent.futures.
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


# httpx logs each request. Filter the requests of this provider out of the task's log, but no others.
logging.getLogger("httpx").addFilter(lambda record: record.threadName != _THREAD)


def _raise(error: BaseException) -> T:  # type: ignore[type-var]
    raise error
