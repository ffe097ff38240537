"""Launches of the real operator against a fake Kubernetes, without the rest of Airflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fake_kubernetes import Cluster, Pod, serve, write_kubeconfig
from harness.deployment import TESTS
from harness.world import connection

DAG_ID, TASK_ID = "launch", "work"


@dataclass(frozen=True)
class Launch:
    """One try: which, with what request, of what server, and what the pod does."""

    run_id: str
    url: str  # of loadaware
    state: str  # name of the folder for what tries tell each other
    env_vars: dict[str, str]
    memory: str = "8Gi"
    try_number: int = 1


@dataclass(frozen=True)
class Launched:
    """What came of it."""

    error: str | None
    seconds: float
    until_pod: float | None  # seconds from the beginning to the pod's creation; None without a pod
    pods: list[Pod] = field(default_factory=list)


class Launches:
    """A place to launch from: an Airflow home, a cluster, and a folder."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster()
        self._folder = folder
        home = folder / "home"
        home.mkdir()
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "LOADAWARE", "KUBE"))}
        self._env = {
            **inherited,
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "PYTHONPATH": str(TESTS),
        }

    def run(self, launches: Sequence[Launch]) -> list[Launched]:
        """Launches them, a few at once, each in a process of its own."""
        cases = [self._case(launch) for launch in launches]
        with serve(self.cluster) as url:
            env = {**self._env, "KUBECONFIG": str(write_kubeconfig(self._folder / "kubeconfig.json", url))}
            log = (self._folder / "launch.log").open("ab")
            with log:
                done = subprocess.run(
                    [sys.executable, "-m", "harness.launch"],
                    input=json.dumps(cases),
                    env=env,
                    cwd=TESTS,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    timeout=300,
                )
        assert done.returncode == 0, self.log()[-4000:]
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(launches), done.stdout
        return [self._launched(launch, answer) for launch, answer in zip(launches, answers, strict=True)]

    def log(self) -> str:
        """What all launches said."""
        return (self._folder / "launch.log").read_text(errors="replace")

    def _case(self, launch: Launch) -> dict[str, Any]:
        return {
            "run_id": launch.run_id,
            "try_number": launch.try_number,
            "memory": launch.memory,
            "env_vars": launch.env_vars,
            "env": {
                "AIRFLOW_CONN_LOADAWARE_DEFAULT": connection(launch.url),
                "AIRFLOW__LOADAWARE__STATE_DIR": str(self._folder / "state" / launch.state),
            },
        }

    def _launched(self, launch: Launch, answer: dict[str, Any]) -> Launched:
        wanted = {"run_id": launch.run_id, "try_number": str(launch.try_number)}
        pods = [pod for pod in self.cluster.history if wanted.items() <= pod.labels.items()]
        until_pod = pods[0].born - answer["begun"] if pods else None
        return Launched(answer["error"], answer["seconds"], until_pod, pods)
