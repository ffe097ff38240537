"""Launches of the real operator against a fake Kubernetes, without the rest of Airflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fake_kubernetes import Cluster, Pod, serve, write_kubeconfig
from harness.deployment import TESTS
from harness.environment import connection

DAG_ID, TASK_ID = "launch", "work"
TIMEOUT = 60.0  # seconds for the process to end
WATCHDOG = 600.0  # seconds after which launches count as blocked


@dataclass(frozen=True)
class Launch:
    """One try: its key, its request, its server and the behaviour of its fake pod."""

    run_id: str
    url: str  # of loadaware
    state: str  # name of the state folder
    env_vars: dict[str, str]  # of the pod; they contain its fake_kubernetes.Script
    memory: str = "8Gi"
    try_number: int = 1
    env: dict[str, str] = field(default_factory=dict)  # of the worker
    existing: str = ""  # the memory of an existing pod of this try, if any
    existing_ended: bool = False  # whether that pod fails before the launch
    # stages ("predict", "observe") without an injected fault; their timeouts are extended, so that a slow answer does
    # not look like a fault
    long_timeouts: tuple[str, ...] = ()


@dataclass(frozen=True)
class LaunchResult:
    error: str | None
    seconds: float
    until_pod: float | None  # seconds until the pod's creation; None without a pod
    pods: list[Pod] = field(default_factory=list)


class Launcher:
    def __init__(self, folder: Path, cluster: Cluster, process: subprocess.Popen[str]) -> None:
        self.cluster = cluster
        self._folder = folder
        self._process = process

    def run(self, *launches: Launch) -> list[LaunchResult]:
        """Run launches, at most launch.CONCURRENCY at a time. Returns their results in order."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([self._case(launch) for launch in launches]) + "\n")
        self._process.stdin.flush()
        results = []
        watchdog = threading.Timer(WATCHDOG, self._process.kill)
        watchdog.start()
        try:
            for launch in launches:
                line = self._process.stdout.readline()
                assert line, f"a launch is blocked or crashed: {self.log()[-4000:]}"
                results.append(self._result(launch, json.loads(line)))
        finally:
            watchdog.cancel()
        return results

    def log(self) -> str:
        return (self._folder / "launch.log").read_text(errors="replace")

    def _case(self, launch: Launch) -> dict[str, Any]:
        return {
            "run_id": launch.run_id,
            "try_number": launch.try_number,
            "memory": launch.memory,
            "env_vars": launch.env_vars,
            "existing": launch.existing,
            "existing_ended": launch.existing_ended,
            "long_timeouts": launch.long_timeouts,
            "env": {
                **launch.env,
                "AIRFLOW_CONN_LOADAWARE_DEFAULT": connection(launch.url),
                "AIRFLOW__LOADAWARE__STATE_DIR": str(self._folder / "state" / launch.state),
            },
        }

    def _result(self, launch: Launch, answer: dict[str, Any]) -> LaunchResult:
        labels = {"run_id": launch.run_id, "try_number": str(launch.try_number)}
        pods = [pod for pod in self.cluster.history if labels.items() <= pod.labels.items()]
        until_pod = pods[0].created_at - answer["started"] if pods else None
        return LaunchResult(answer["error"], answer["seconds"], until_pod, pods)


@contextmanager
def start_launcher(folder: Path) -> Iterator[Launcher]:
    home = folder / "home"
    home.mkdir()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "LOADAWARE", "KUBE"))}
    # The first read by name releases a waiting pod (Script.waits): then its run time starts. The operator finds an
    # existing pod in a list and reads it by name afterwards, so the pod cannot end before the operator has found it.
    cluster = Cluster(is_released=lambda pod: pod.reads > 0)
    with serve(cluster) as url, (folder / "launch.log").open("ab") as log:
        env = {
            **inherited,
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "KUBECONFIG": str(write_kubeconfig(folder / "kubeconfig.json", url)),
            "PYTHONPATH": str(TESTS),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.launch"],
            env=env,
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            yield Launcher(folder, cluster, process)
            process.communicate(timeout=TIMEOUT)  # closes its input, which ends it
        finally:
            process.kill()
            process.wait()
