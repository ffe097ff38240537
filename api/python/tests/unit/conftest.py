"""Shared fixtures: a separate Airflow home, and a server whose answers a test sets."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "airflow"))  # for fake_kubernetes

# Set these before any import of Airflow, which reads them once.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="loadaware-unit-")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "false"
os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "true"

import pytest

Answer = tuple[int, Any]


class ScriptedServer:
    """Answers each path from `answers` and records the requests.

    An answer is a status and a body (JSON value or bytes), or a function that returns both for the body of a request.
    `tokens` and `tasks` contain the headers Authorization and Loadaware-Task of the requests.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[Any], Answer]] = {}
        self.requests: list[tuple[str, Any]] = []
        self.tokens: list[str | None] = []
        self.tasks: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                outer.requests.append((self.path, body))
                outer.tokens.append(self.headers.get("Authorization"))
                outer.tasks.append(self.headers.get("Loadaware-Task"))
                answer = outer.answers.get(self.path, (404, {"detail": "nothing"}))
                status, value = answer(body) if callable(answer) else answer
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                self.do_POST()

            def do_PUT(self) -> None:
                self.do_POST()

            def log_message(self, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def bodies_of(self, path: str) -> list[Any]:
        """Return the bodies of the requests to a path."""
        return [body for requested, body in self.requests if requested == path]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    connect(monkeypatch, scripted.port)
    yield scripted
    scripted.close()


def connect(monkeypatch: pytest.MonkeyPatch, port: int, **more: Any) -> None:
    connection = {"conn_type": "loadaware", "host": "127.0.0.1", "port": port, "password": "s3cret", **more}
    monkeypatch.setenv("AIRFLOW_CONN_LOADAWARE_DEFAULT", json.dumps(connection))


@pytest.fixture(autouse=True)
def isolation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolate the state folder and the default connection of each test, and extend the timeouts for a busy machine."""
    from airflow_provider_loadaware import hooks, report, service, sizing
    from airflow_provider_loadaware._compat import AIRFLOW_3

    monkeypatch.setenv("AIRFLOW__LOADAWARE__STATE_DIR", str(tmp_path / "state"))
    for name in ("LOADAWARE_DISABLED", "AIRFLOW_CONN_LOADAWARE_DEFAULT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(service, "TOTAL_SECONDS", 120.0)
    monkeypatch.setattr(service, "CONNECT_SECONDS", 120.0)
    hooks._services.clear()
    report._reported.clear()
    sizing._logged.clear()
    if not AIRFLOW_3:
        # Airflow 2 writes rendered fields to its database, which these tests do not have.
        monkeypatch.setattr("airflow.models.renderedtifields.RenderedTaskInstanceFields", lambda **_: NoDatabaseFields)


class NoDatabaseFields:
    @staticmethod
    def write() -> None: ...


@pytest.fixture
def log_lines(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """Return a function that reads the provider's log lines from stdout: Airflow 3 bypasses the logging module."""

    def read() -> list[str]:
        output = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        return [line.partition("loadaware: ")[2] for line in output.splitlines() if "loadaware: " in line]

    return read


def prediction(request: int, **changes: Any) -> dict[str, Any]:
    """Return an answer of POST /predict that grants `request` bytes."""
    return {
        "prediction_id": "p-1",
        "namespace": "default",
        "dag_id": "pricing",
        "task_id": "predict_demand",
        "memory": {"request_bytes": request, "limit_bytes": request, "request": "?", "limit": "?"},
        "shadow": None,
        "cpu": {"request_cores": 1.5, "request": "1500m"},
        "duration": None,
        "bins": None,
        "ladder_bytes": None,
        "risk": {"promised": 0.01, "target": 0.015},
        "source": "model",
        "mode": "enforce",
        "model": None,
        "reason": "bin 10Gi at 0.99",
        **changes,
    }


def lift(request: int | None, **changes: Any) -> dict[str, Any]:
    """Return an answer of POST /retry-lift that announces `request` bytes; None for no further memory."""
    memory = {"request_bytes": request, "limit_bytes": request, "request": "?", "limit": "?"} if request else None
    return {
        "retry": memory is not None,
        "verdict": "lift" if memory else "at_cap",
        "attempt": 2,
        "attempts_left": 2,
        "memory": memory,
        "shadow": None,
        "prediction_id": "p-2",
        "reason": "because",
        **changes,
    }


RECORDED = {"recorded": True, "duplicate": False, "amended": False}


def task_context(try_number: int = 1, **more: Any) -> dict[str, Any]:
    pushed: dict[str, Any] = {}
    ti = SimpleNamespace(
        dag_id="pricing",
        task_id="predict_demand",
        run_id="run-1",
        map_index=4,
        try_number=try_number,
        xcom_push=lambda key, value: pushed.__setitem__(key, value),
        pushed=pushed,
    )
    dag = SimpleNamespace(params={})
    return {"ti": ti, "run_id": "run-1", "dag": dag, "params": {}, "task": SimpleNamespace(params={}), **more}
