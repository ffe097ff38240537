"""Runs the real server with a private PostgreSQL in a temporary folder."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from harness.processes import Process
from harness.waiting import wait_for

Json = dict[str, Any]

REPOSITORY = Path(__file__).resolve().parents[5]
BINARY = Path(os.environ.get("LOADAWARE_BIN") or REPOSITORY / "bin" / "loadaware")


class Loadaware:
    def __init__(self, folder: Path, *, background_training: bool = True, frame_ancestors: str = "") -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("LOADAWARE_")}
        env.pop("DATABASE_URL", None)
        env["LOADAWARE_SIMILAR_TASKS"] = "false"  # tests expect the static request for tasks without history
        env["LOADAWARE_BACKGROUND_TRAINING"] = str(background_training).lower()
        env["LOADAWARE_UI_FRAME_ANCESTORS"] = frame_ancestors
        self._folder, self._env = folder, env
        self._listen = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        """Start the server and wait until it is ready. A restart keeps its address and its data."""
        command = [
            str(BINARY),
            "serve",
            "--addr",
            self._listen,
            "--admin-addr",
            "",
            "--data",
            str(self._folder / "data"),
        ]
        self._process = Process(command, self._env, self._folder / "loadaware.log", self._folder)
        try:
            self.url = wait_for("loadaware", self._address, seconds=60)
            wait_for("a ready loadaware", self._ready, seconds=60)
        except AssertionError:
            self._process.stop()
            raise AssertionError(self._process.output()[-8000:]) from None
        self._listen = self.url.removeprefix("http://")

    def stop(self) -> None:
        self._process.stop()

    def crash(self) -> None:
        self._process.kill()

    def kill_postgres(self) -> None:
        """Kill the private PostgreSQL. The service starts it again. Raises OSError if no PostgreSQL runs."""
        pid_file = next((self._folder / "data").rglob("postmaster.pid"), None)
        if pid_file is None:
            raise FileNotFoundError("postmaster.pid")
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)

    def get(self, path: str) -> Json:
        return self._call(path)

    def post(self, path: str, body: Json) -> Json:
        return self._call(path, body)

    def learn(self, dag_id: str, task_id: str, runs: list[tuple[Json, int]], **fields: Any) -> None:
        """Report successful runs, each as (features, peak in bytes), and train a model."""
        self.report(dag_id, task_id, runs, **fields)
        trained = self.post(f"/tasks/{dag_id}/{task_id}/train", {})
        assert trained["published"], trained

    def report(self, dag_id: str, task_id: str, runs: list[tuple[Json, int]], **fields: Any) -> None:
        """Report successful runs, each as (features, peak in bytes)."""
        observations = [
            {
                "dag_id": dag_id,
                "task_id": task_id,
                "run_id": f"history__{number}",
                "outcome": "success",
                "memory_max_bytes": peak,
                "duration_seconds": 60,
                "features": features,
                **fields,
            }
            for number, (features, peak) in enumerate(runs)
        ]
        answer = self.post("/observe/batch", {"observations": observations})
        assert all(result["recorded"] for result in answer["results"]), answer

    def has_report(self, outcome: str, **of: Any) -> bool:
        """Return whether a try was reported with an outcome and the given fields.

        This sends the report again, and the server answers whether it is a duplicate, a conflict or new. The server
        records a new report, so a second call with the same arguments returns True.
        """
        try:
            answer = self.post("/observe", {"outcome": outcome, **of})
        except urllib.error.HTTPError as error:
            assert error.code == 409, error.read()
            return False
        return answer["duplicate"] is True

    def _address(self) -> str | None:
        assert not self._process.has_ended()
        found = re.search(r"^loadaware serves at (\S+)$", self._process.output(), re.MULTILINE)
        return found.group(1) if found else None

    def _ready(self) -> bool:
        try:
            return bool(self.get("/readyz")["status"] == "ready")
        except OSError:
            return False

    def _call(self, path: str, body: Json | None = None) -> Json:
        request = urllib.request.Request(self.url + path)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=120) as answer:
            decoded: Json = json.load(answer)
            return decoded
