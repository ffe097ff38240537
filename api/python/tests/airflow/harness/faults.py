"""Servers on localhost with one fault each."""

from __future__ import annotations

import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_TIMEOUT = 120.0  # seconds for a request to arrive or to be forwarded


def _hang(peer: socket.socket) -> None:
    peer.settimeout(None)
    while peer.recv(4096):
        pass


def _drip(peer: socket.socket) -> None:
    """Send a byte at a time until the client gives up, so that no single read times out."""
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        peer.sendall(b" ")
        time.sleep(0.2)


def _reset(peer: socket.socket) -> None:
    """Set an option with which closing the connection sends a TCP reset."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _large(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")
    for _ in range(256):
        peer.sendall(b" " * 2**20)


def _answer(status: str, body: str, *headers: str, kind: str = "application/json") -> Callable[..., None]:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    whole = ("\r\n".join(head) + "\r\n\r\n" + body).encode()
    return lambda peer: peer.sendall(whole)


_INVALID_FIELDS = """{
  "prediction_id": 7, "namespace": "default", "dag_id": "x", "task_id": "y",
  "memory": {"request_bytes": -5, "limit_bytes": 99999999999999999999, "request": "lots", "limit": "-5"},
  "shadow": null, "cpu": {"request_cores": "many", "request": "NaN"}, "duration": null, "bins": null,
  "ladder_bytes": ["?"], "risk": {}, "source": "oracle", "mode": "maybe", "model": null, "reason": null,
  "recorded": "perhaps", "retry": "yes", "verdict": "lift"
}"""
# Only the amount is invalid.
_TINY = """{
  "prediction_id": "tiny", "namespace": "default", "dag_id": "launch", "task_id": "work",
  "memory": {"request_bytes": 1, "limit_bytes": 1, "request": "1", "limit": "1"},
  "shadow": null, "cpu": null, "duration": null, "bins": null, "ladder_bytes": null,
  "risk": {"promised": null, "target": 0.015}, "source": "model", "mode": "enforce", "model": null,
  "reason": "one byte is enough"
}"""
_PROBLEM = '{"type": "about:blank", "title": "no", "status": 500, "detail": "no"}'

FAULTS: Mapping[str, Callable[[socket.socket], None]] = {
    "hangs": _hang,
    "drips": _drip,
    "resets": _reset,
    "closes at once": lambda peer: None,
    "answers 500": _answer("500 Internal Server Error", _PROBLEM, kind="application/problem+json"),
    "answers 503 with Retry-After": _answer("503 Service Unavailable", _PROBLEM, "Retry-After: 60"),
    "answers 429 with Retry-After": _answer("429 Too Many Requests", _PROBLEM, "Retry-After: 60"),
    "answers 401": _answer("401 Unauthorized", _PROBLEM, "WWW-Authenticate: Bearer"),
    "answers 404": _answer("404 Not Found", "<h1>nothing here</h1>", kind="text/html"),
    "answers no JSON": _answer("200 OK", '{"memory": {"request_bytes": 12'),
    "answers invalid fields": _answer("200 OK", _INVALID_FIELDS),
    "grants one byte": _answer("200 OK", _TINY),
    "answers an empty object": _answer("200 OK", "{}"),
    "answers a web page": _answer("200 OK", "<html>Please log in</html>", kind="text/html"),
    "answers 256 MiB": _large,
    "redirects": _answer("302 Found", "", "Location: /predict"),
    "speaks no HTTP": lambda peer: peer.sendall(b"220 mail.example.org ESMTP\r\n"),
}


@contextmanager
def faulty(fault: str, paths: tuple[str, ...], upstream: str) -> Iterator[str]:
    """Serve a fault on paths with these prefixes, forward other requests to `upstream`, and yield the URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(peer: socket.socket) -> None:
        with peer:
            try:
                head, body = _read_request(peer)
                method, path, _ = head.split("\r\n", 1)[0].split(" ", 2)
                if path.startswith(paths):
                    FAULTS[fault](peer)
                else:
                    peer.sendall(_forward(method, upstream + path, body))
            except (OSError, ValueError):
                pass

    def accept() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(peer,), daemon=True).start()

    thread = threading.Thread(target=accept, name=f"faulty: {fault}")
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@contextmanager
def closed_port() -> Iterator[str]:
    """Yield the URL of a port that is reserved but has no listener."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{reserved.getsockname()[1]}"


def _read_request(peer: socket.socket) -> tuple[str, bytes]:
    peer.settimeout(_TIMEOUT)
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = peer.recv(65536)
        if not chunk:
            raise ValueError("no request")
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0]):
        chunk = peer.recv(65536)
        if not chunk:
            raise ValueError("the body is incomplete")
        body += chunk
    return head.decode("latin-1"), body


def _forward(method: str, url: str, body: bytes) -> bytes:
    request = urllib.request.Request(url, data=body or None, method=method)
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            status, kind, data = answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        status, kind, data = error.code, error.headers["Content-Type"], error.read()
    head = [f"HTTP/1.1 {status} Forwarded", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
    return ("\r\n".join([*head, "Connection: close"]) + "\r\n\r\n").encode() + bytes(data)
