"""Tests of Service: its errors (NotAnsweredError and RejectedError), deadlines, retries, circuit breakers."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_loadaware import service as service_module
from airflow_provider_loadaware.service import Deadline, InvalidRequestError, NotAnsweredError, RejectedError, Service
from airflow_provider_loadaware.transport import run_with_timeout

from .conftest import RECORDED, ScriptedServer, prediction

PREDICT = {"dag_id": "d", "task_id": "t", "run_id": "r", "requested": {"memory_bytes": 1 << 30}}
OBSERVE = {"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success"}
TOTAL_SECONDS, CONNECT_SECONDS = service_module.TOTAL_SECONDS, service_module.CONNECT_SECONDS


@pytest.fixture
def raw() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """Return a function that starts a TCP server with a connection handler and returns its address."""
    sockets: list[socket.socket] = []

    def start(handler: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                sockets.append(connection)
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        def handle(connection: socket.socket) -> None:
            with contextlib.suppress(OSError):
                handler(connection)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for opened in sockets:
        opened.close()


# The handlers `hanging`, `dripping` and `endless` never complete an answer, so only the client can end the call.


def hanging(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def dripping(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.1)


def endless(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" " * 65536)


def resetting(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.close()


def not_http(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
    connection.close()


@pytest.fixture
def product_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the timeouts that conftest extends."""
    monkeypatch.setattr(service_module, "TOTAL_SECONDS", TOTAL_SECONDS)
    monkeypatch.setattr(service_module, "CONNECT_SECONDS", CONNECT_SECONDS)


def test_the_documented_timeouts() -> None:
    assert (CONNECT_SECONDS, TOTAL_SECONDS) == (0.3, 2.0)


@pytest.mark.usefixtures("product_timeouts")
@pytest.mark.parametrize("handler", [hanging, dripping, endless, resetting, not_http])
def test_a_broken_server_counts_as_not_answered(raw: Any, handler: Callable[[socket.socket], None]) -> None:
    with pytest.raises(NotAnsweredError):
        Service(raw(handler)).predict(PREDICT, Deadline())


@pytest.mark.usefixtures("product_timeouts")
@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "http://no-such-host.invalid", "https://127.0.0.1:1"])
def test_an_unreachable_address_is_not_answered(address: str) -> None:
    with pytest.raises(NotAnsweredError):
        Service(address).predict(PREDICT, Deadline())


@pytest.mark.usefixtures("product_timeouts")
def test_a_hanging_resolver_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    test_ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: test_ended.wait())
    with pytest.raises(NotAnsweredError):
        Service("http://slow.example.org").predict(PREDICT, Deadline())
    test_ended.set()


def test_calls_with_one_deadline_share_its_time(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    granted: list[float] = []

    def run(seconds: float, work: Callable[[], Any]) -> Any:
        granted.append(seconds)
        clock[0] += 1.5
        return work()

    monkeypatch.setattr(service_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(service_module, "run_with_timeout", run)
    server.answers["/predict"] = (200, prediction(10 << 30))
    deadline, client = Deadline(TOTAL_SECONDS), Service(server.url)
    client.predict(PREDICT, deadline)
    client.predict(PREDICT, deadline)
    with pytest.raises(NotAnsweredError, match="no time left"):
        client.predict(PREDICT, deadline)
    assert granted == [2.0, 0.5]


@pytest.mark.parametrize(
    "answer",
    [
        (200, b""),
        (200, b"<html>"),
        (200, b"null"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b"\xff"),
        (200, prediction(1, source="oracle")),
        (204, b""),
        (302, b""),
        (500, {"detail": "internal error"}),
        (503, b"<html>"),
    ],
    ids=str,
)
def test_an_invalid_answer_counts_as_not_answered(server: ScriptedServer, answer: Any) -> None:
    server.answers["/predict"] = answer
    with pytest.raises(NotAnsweredError):
        Service(server.url).predict(PREDICT, Deadline())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429])
def test_a_rejection_shows_whether_a_retry_may_succeed(server: ScriptedServer, status: int) -> None:
    server.answers["/predict"] = (status, {"detail": "no"})
    with pytest.raises(RejectedError, match="no") as caught:
        Service(server.url).predict(PREDICT, Deadline())
    assert caught.value.status == status and caught.value.retryable is (status in (401, 403, 429))


def test_a_broken_connection_is_retried_once_and_a_500_is_not(server: ScriptedServer, raw: Any) -> None:
    connections: list[int] = []

    def disconnect(connection: socket.socket) -> None:
        connections.append(1)
        connection.close()

    with pytest.raises(NotAnsweredError):
        Service(raw(disconnect)).predict(PREDICT, Deadline())
    assert len(connections) == 2
    server.answers["/predict"] = (500, {})
    with pytest.raises(NotAnsweredError):
        Service(server.url).predict(PREDICT, Deadline())
    assert len(server.requests) == 1


def test_the_token_is_sent_and_an_answer_read(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 << 30))
    answer = Service(server.url, "s3cret").predict(PREDICT, Deadline())
    assert answer.memory is not None and answer.memory.request_bytes == 10 << 30
    assert server.tokens == ["Bearer s3cret"]
    assert server.requests == [("/predict", PREDICT)]


def test_a_header_names_the_task_for_proxies(server: ScriptedServer) -> None:
    service = Service(server.url)
    server.answers["/predict"] = (200, prediction(10 << 30))
    server.answers["/observe"] = (200, RECORDED)
    server.answers["/observe/batch"] = (200, {"results": [RECORDED]})
    service.predict({**PREDICT, "dag_id": "täglich", "task_id": "a/b"}, Deadline())
    service.observe(OBSERVE, Deadline())
    service.observe_many([OBSERVE], Deadline())
    assert server.tasks == ["t%C3%A4glich/a%2Fb", "d/t", None]


def test_services_share_circuit_breakers_in_a_folder_and_observe_has_its_own(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.answers["/observe"] = (503, {})
    server.answers["/predict"] = (200, prediction(10 << 30))
    for _ in range(3):
        with pytest.raises(NotAnsweredError):
            Service(server.url, state=tmp_path).observe(OBSERVE, Deadline())
    with pytest.raises(NotAnsweredError, match="pause"):
        Service(server.url, state=tmp_path).observe(OBSERVE, Deadline())
    assert len(server.bodies_of("/observe")) == 3
    Service(server.url, state=tmp_path).predict(PREDICT, Deadline())


def test_a_rejection_does_not_open_the_circuit_breaker(server: ScriptedServer, tmp_path: Path) -> None:
    server.answers["/observe"] = (422, {})
    for _ in range(5):
        with pytest.raises(RejectedError):
            Service(server.url, state=tmp_path).observe(OBSERVE, Deadline())
    server.answers["/observe"] = (200, RECORDED)
    assert Service(server.url, state=tmp_path).observe(OBSERVE, Deadline()).recorded


@pytest.mark.parametrize(
    "value", ["a\udce9", float("nan"), object()], ids=["a lone surrogate", "not a number", "an object"]
)
def test_a_request_that_cannot_be_encoded_counts_no_failure(
    server: ScriptedServer, tmp_path: Path, value: object
) -> None:
    client = Service(server.url, state=tmp_path)
    for _ in range(5):
        with pytest.raises(InvalidRequestError):
            client.predict({**PREDICT, "features": {"f": value}}, Deadline())
        with pytest.raises(InvalidRequestError):
            client.observe({**OBSERVE, "features": {"f": value}}, Deadline())
    assert server.requests == []
    server.answers["/predict"] = (200, prediction(10 << 30))
    client.predict(PREDICT, Deadline())


def test_an_expired_deadline_counts_no_failure(server: ScriptedServer, tmp_path: Path) -> None:
    for _ in range(5):
        with pytest.raises(NotAnsweredError, match="no time left"):
            Service(server.url, state=tmp_path).predict(PREDICT, Deadline(0))
    server.answers["/predict"] = (200, prediction(10 << 30))
    Service(server.url, state=tmp_path).predict(PREDICT, Deadline())


def test_run_with_timeout_returns_raises_and_times_out() -> None:
    assert run_with_timeout(120, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(120, lambda: 1 // 0)
    test_ended = threading.Event()
    with pytest.raises(TimeoutError):
        run_with_timeout(0.01, test_ended.wait)
    test_ended.set()
