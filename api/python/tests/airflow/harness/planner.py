"""A proxy in front of loadaware that adds plans to predictions and answers POST /phase."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scenarios import PHASED_GROWN, PHASED_START, PHASED_STATIC

Json = dict[str, Any]


@dataclass
class Planner:
    """Grants PHASED_STATIC with a plan in each prediction; the task id begins with the mode of the plan.

    /phase answers a limit of at least PHASED_GROWN if the request contains a sample and `may_grow` is true for the try,
    and otherwise the limit of the request.
    """

    upstream: str
    may_grow: Callable[[Json], bool] = lambda key: True
    is_down: bool = False  # /phase is not answered
    phase_requests: list[Json] = field(default_factory=list)
    reports: list[Json] = field(default_factory=list)
    url: str = ""

    def predict(self, body: Json, answer: Json) -> Json:
        memory = {"request_bytes": PHASED_STATIC, "limit_bytes": PHASED_STATIC, "request": "?", "limit": "?"}
        plan = {
            "version": 1,
            "mode": body["task_id"].partition("_")[0],
            "start": {"memory_bytes": PHASED_START, "cpu_millicores": 250},
            "static_bytes": PHASED_STATIC,
            "steps": [],
            "promised": 0.01,
            "poll_seconds": 1,
            "reaction_seconds": 1,
        }
        cpu = {"request_cores": 1.0, "request": "1"}
        return {**answer, "memory": memory, "cpu": cpu, "source": "model", "mode": "enforce", "plan": plan}

    def phase(self, body: Json) -> Json:
        self.phase_requests.append(body)
        grows = self.may_grow(body) and bool(body.get("samples"))
        return {
            "mode": "memory",
            "version": 1,
            "phase": 1,
            "phase_seconds": None,
            "next": [],
            "remaining": None,
            "memory_bytes": max(body["limit_bytes"], PHASED_GROWN) if grows else body["limit_bytes"],
            "cpu_millicores": 750 if grows else None,
            "by_seconds": body["elapsed_seconds"] + 2,
            "ask_again_seconds": 1,
            "static_bytes": PHASED_STATIC,
            "reason": "the usage grows",
        }

    def executed_plan(self, **key: Any) -> Json:
        (found,) = [report for report in self.reports if key.items() <= report.items()]
        plan: Json = found["executed_plan"]
        return plan


@contextmanager
def serve_plans(planner: Planner) -> Iterator[Planner]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(data)
            if self.path == "/phase":
                if not planner.is_down:
                    self._answer(200, json.dumps(planner.phase(body)).encode())
                return
            if self.path == "/observe":
                planner.reports.append(body)
                # loadaware made no plan, so it does not receive how the plan was executed.
                data = json.dumps({name: value for name, value in body.items() if name != "executed_plan"}).encode()
            status, answer = _forward(planner.upstream + self.path, data)
            if self.path == "/predict" and status == 200:
                answer = json.dumps(planner.predict(body, json.loads(answer))).encode()
            self._answer(status, answer)

        def _answer(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="planner")
    thread.start()
    planner.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield planner
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _forward(url: str, data: bytes) -> tuple[int, bytes]:
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
