"""Runs the real operator, each launch after the first in its own process: python -m harness.launch.

Every input line is a list of cases, as Launcher._case returns them. The output has one line per case, in order:
{"error", "started", "seconds"}, with `started` on the monotonic clock. The first case runs in this process: Airflow's
imports take seconds, and forked processes inherit them.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

from airflow import DAG
from airflow_provider_loadaware import service
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from kubernetes.client import models as k8s

from harness.waiting import wait_for
from scenarios import FAST_POLLING

Json = dict[str, Any]

CONCURRENCY = 8  # launches at the same time
LONG_TIMEOUT = 60.0  # seconds
CRASHED = '{"error": "the process died", "started": 0, "seconds": 0}'
DAG_ID, TASK_ID = "launch", "work"


def launch(case: Json) -> Json:
    """Execute the operator like a worker."""
    os.environ.update(case["env"])
    static = {"memory": case["memory"]}
    with DAG(DAG_ID, schedule=None, start_date=datetime(2024, 1, 1, tzinfo=timezone.utc)) as dag:
        task = SizedKubernetesPodOperator(
            task_id=TASK_ID,
            container_resources=k8s.V1ResourceRequirements(requests=static, limits=dict(static)),
            env_vars=case["env_vars"],
            features={"rows": 500},
            **{**FAST_POLLING, "startup_check_interval_seconds": 0.1},
        )
    context = _context(dag, task, case)
    if case["existing"]:
        _create_existing_pod(task, context, case["existing"], ended=case["existing_ended"])
    started = time.monotonic()
    error = None
    try:
        with _extend_timeouts(task, case["long_timeouts"]):
            task.execute(context)
    except Exception as caught:  # noqa: BLE001 - the result contains the error
        error = f"{type(caught).__name__}: {caught}"
    return {"error": error, "started": started, "seconds": time.monotonic() - started}


@contextmanager
def _extend_timeouts(task: Any, stages: list[str]) -> Iterator[None]:
    """Extend the timeouts of `stages`, which have no fault, so that a slow answer is not mistaken for a fault.

    The stage `predict` lasts until the pod is created; then `observe` begins. The timeout of a connection is the same
    in both stages: it is extended if `stages` is not empty.
    """
    timeouts = {"predict": service.TOTAL_SECONDS, "observe": service.TOTAL_SECONDS} | dict.fromkeys(
        stages, LONG_TIMEOUT
    )
    total, connect = service.TOTAL_SECONDS, service.CONNECT_SECONDS
    create = task.get_or_create_pod

    def create_pod(*args: Any, **kwargs: Any) -> Any:
        pod = create(*args, **kwargs)
        service.TOTAL_SECONDS = timeouts["observe"]
        return pod

    task.get_or_create_pod = create_pod
    service.TOTAL_SECONDS = timeouts["predict"]
    if stages:
        service.CONNECT_SECONDS = LONG_TIMEOUT
    try:
        yield
    finally:
        service.TOTAL_SECONDS, service.CONNECT_SECONDS = total, connect


def _context(dag: Any, task: Any, case: Json) -> Any:
    """Return the part of a task's context that operators use."""
    ti = SimpleNamespace(
        dag_id=DAG_ID,
        task_id=TASK_ID,
        run_id=case["run_id"],
        map_index=-1,
        try_number=case["try_number"],
        start_date=datetime.now(timezone.utc),
        task=task,
        xcom_push=lambda *_, **__: None,
    )
    run = SimpleNamespace(run_id=case["run_id"], conf={})
    return {
        "dag": dag,
        "dag_run": run,
        "params": {},
        "run_id": case["run_id"],
        "task": task,
        "task_instance": ti,
        "ti": ti,
    }


def _create_existing_pod(task: Any, context: Any, memory: str, *, ended: bool) -> None:
    """Create the leftover pod of a crashed worker of this try, running or ended."""
    labels = {**task._get_ti_pod_labels(context)}
    resources = {"requests": {"memory": memory}, "limits": {"memory": memory}}
    env = [{"name": name, "value": value} for name, value in task.env_vars.items()]
    base = {"name": "base", "image": "none", "env": env, "resources": resources}
    body = {"metadata": {"name": "existing", "labels": labels}, "spec": {"containers": [base]}}
    task.client.create_namespaced_pod(task.namespace, body)
    if ended:
        wait_for(
            "the end of the existing pod",
            lambda: task.client.read_namespaced_pod("existing", task.namespace).status.phase == "Failed",
        )


def _fork(case: Json) -> tuple[int, int]:
    """Fork a child that launches a case. Returns its id and the pipe with its result."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            with os.fdopen(write_end, "w") as answer:
                answer.write(json.dumps(launch(case)))
        except BaseException:  # noqa: BLE001 - logged
            traceback.print_exc()
        finally:
            os._exit(0)  # skip the exit handlers of the parent
    os.close(write_end)
    return child, read_end


def main() -> None:
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keep Airflow's output out of the results
    imported = False
    for line in sys.stdin:
        cases = json.loads(line)
        if not imported:
            print(json.dumps(launch(cases.pop(0))), file=results, flush=True)
            imported = True
        for begin in range(0, len(cases), CONCURRENCY):
            for child, read_end in [_fork(case) for case in cases[begin : begin + CONCURRENCY]]:
                with os.fdopen(read_end) as answer:
                    print(answer.read() or CRASHED, file=results, flush=True)
                os.waitpid(child, 0)


if __name__ == "__main__":
    main()
