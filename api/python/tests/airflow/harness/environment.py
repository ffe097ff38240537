"""The test environment: loadaware, a fake Kubernetes and Airflow."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fake_kubernetes import Cluster, Pod, serve, write_kubeconfig
from fake_kubernetes.quantity import memory_bytes
from harness.deferrals import Deferrals
from harness.deployment import Airflow
from harness.faults import faulty
from harness.loadaware import Loadaware
from harness.planner import Planner, serve_plans
from scenarios import GIB, PHASED_CASES, training_runs

# The DAGs in which the environment starts a run `first`, with the conf of this run.
FIRST_RUNS: Mapping[str, Mapping[str, int]] = {
    # About three times the memory of a training run with the same value of the feature `rows`, so that the first grant
    # leads to an OOM kill.
    "sized": {"need": 3 * GIB},
    "sized_deferrable": {"need": 3 * GIB},
    "sized_mapped": {},
    "policy": {"need": 3 * GIB},
    "function": {"need": 3 * GIB},
    "failures": {},
    "failures_deferrable": {},
    "rejected": {},
    "outage": {},
    "no_pod": {},
    "phased": {},
}
SYNCHRONOUS = {task_id for task_id, case in PHASED_CASES.items() if not case.deferrable}
TRAINED_TASKS = [
    ("sized", "work"),
    ("sized_deferrable", "work"),
    ("sized_mapped", "work"),
    ("function", "work"),
    ("policy", "sync"),
    ("policy", "deferrable"),
    ("policy", "mapped"),
    ("policy", "denied"),
    ("policy", "opted_out"),
    ("rejected", "quota"),
    ("rejected", "admission"),
    ("outage", "work"),
]


@dataclass(frozen=True)
class Environment:
    loadaware: Loadaware
    airflow: Airflow
    cluster: Cluster
    planner: Planner

    def pods(self, dag_id: str, task_id: str, run_id: str, map_index: int = -1) -> list[Pod]:
        labels = {"dag_id": dag_id, "task_id": task_id, "run_id": run_id}
        if map_index >= 0:
            labels["map_index"] = str(map_index)
        return [pod for pod in self.cluster.history if labels.items() <= pod.labels.items()]

    def limits(self, dag_id: str, task_id: str, run_id: str, map_index: int = -1) -> list[int]:
        """Return the memory limits of the pods of a task in a run in bytes, and check that each equals the request."""
        limits = []
        for pod in self.pods(dag_id, task_id, run_id, map_index):
            assert pod.memory_limit is not None
            assert memory_bytes(pod.base["resources"]["requests"]["memory"]) == pod.memory_limit
            limits.append(pod.memory_limit)
        return limits


def has_deferred(deferrals: Deferrals) -> Callable[[Pod], bool]:
    """Return a function that reports whether the scheduler has processed all deferrals of a pod's try."""

    def check(pod: Pod) -> bool:
        labels = pod.labels
        keys = (labels["dag_id"], labels["task_id"], labels["run_id"])
        needed = pod.lifecycle.script.deferrals
        return deferrals.count(*keys, labels.get("map_index", "-1"), labels["try_number"]) >= needed

    return check


def is_deferred(deferrals: Deferrals, key: Mapping[str, object]) -> bool:
    """Return whether the scheduler has processed a deferral of the try in the body of a request."""
    names = ("dag_id", "task_id", "run_id", "map_index", "try_number")
    values = [str(key[name]) for name in names]
    return deferrals.count(*values) > 0


def connection(url: str) -> str:
    """Return an Airflow connection to loadaware as the value of an environment variable."""
    parts = urlsplit(url)
    return json.dumps({"conn_type": "loadaware", "host": parts.hostname, "port": parts.port, "schema": parts.scheme})


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a temporary folder that PostgreSQL can read as a user other than root.

    TEST_AIRFLOW_KEEP=1 keeps it for debugging.
    """
    path = Path(tempfile.mkdtemp(prefix="loadaware-airflow-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        if os.environ.get("TEST_AIRFLOW_KEEP"):
            print(f"kept {path}")
        else:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def trained_server(path: Path) -> Iterator[Loadaware]:
    server = Loadaware(path)
    try:
        for dag_id, task_id in TRAINED_TASKS:
            server.learn(dag_id, task_id, training_runs())
        yield server
    finally:
        server.stop()


@contextmanager
def environment() -> Iterator[Environment]:
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        server = stack.enter_context(trained_server(path))
        cluster = Cluster()
        kubernetes = stack.enter_context(serve(cluster))
        planner = stack.enter_context(serve_plans(Planner(server.url)))
        phase_outage = stack.enter_context(serve_plans(Planner(server.url, is_down=True)))
        hanging = stack.enter_context(faulty("hangs", ("/",), server.url))
        home = path / "airflow"
        home.mkdir()
        airflow = Airflow(
            home,
            {
                "KUBECONFIG": str(write_kubeconfig(path / "kubeconfig.json", kubernetes)),
                "AIRFLOW_CONN_LOADAWARE_DEFAULT": connection(server.url),
                "AIRFLOW_CONN_LOADAWARE_HANGING": connection(hanging),
                "AIRFLOW_CONN_LOADAWARE_PLANNED": connection(planner.url),
                "AIRFLOW_CONN_LOADAWARE_PHASE_OUTAGE": connection(phase_outage.url),
                "AIRFLOW_VAR_LOADAWARE_CAMPAIGN_RUNS": "1",
                "AIRFLOW_VAR_LOADAWARE_CAMPAIGN_INTERVAL_SECONDS": "1",
                "AIRFLOW__LOADAWARE__STATE_DIR": str(path / "state"),
                "AIRFLOW__LOADAWARE__SYNCHRONOUS_LIMITS": "True",
                "AIRFLOW__LOADAWARE__POLICY_ALLOW": "policy.*",
                "AIRFLOW__LOADAWARE__POLICY_DENY": "policy.denied",
            },
        )
        deferrals = Deferrals(home / "scheduler.out")
        cluster.is_released = has_deferred(deferrals)
        planner.may_grow = lambda key: key["task_id"] in SYNCHRONOUS or is_deferred(deferrals, key)
        stack.callback(airflow.stop)
        airflow.start()
        try:
            airflow.wait_for_dags(set(FIRST_RUNS))
            airflow.trigger(*((dag, "first", dict(conf)) for dag, conf in FIRST_RUNS.items()))
            yield Environment(server, airflow, cluster, planner)
        except BaseException:
            print(airflow.output())
            raise
