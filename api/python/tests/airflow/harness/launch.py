"""Runs the real operator, each launch in a process of its own: python -m harness.launch.

Every line of the input is a list of cases, {"run_id", "try_number", "memory", "env_vars", "found", "found_ended",
"env"}, as launches.Launch says. The answers, a line for each case in their order, are {"error", "begun",
"seconds"} with `begun` on the monotonic clock. The very first case is launched in this process: what Airflow
imports and prepares on the way takes seconds, and the others, forked from here, find it done.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

from airflow import DAG
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from kubernetes.client import models as k8s

from harness.waiting import wait_for
from scenarios import QUICK

Json = dict[str, Any]

AT_ONCE = 8
DIED = '{"error": "the process died", "begun": 0, "seconds": 0}'
DAG_ID, TASK_ID = "launch", "work"


def launch(case: Json) -> Json:
    """Executes the operator as a worker would."""
    os.environ.update(case["env"])
    static = {"memory": case["memory"]}
    with DAG(DAG_ID, schedule=None, start_date=datetime(2024, 1, 1, tzinfo=timezone.utc)) as dag:
        task = SizedKubernetesPodOperator(
            task_id=TASK_ID,
            container_resources=k8s.V1ResourceRequirements(requests=static, limits=dict(static)),
            env_vars=case["env_vars"],
            features={"rows": 500},
            **{**QUICK, "startup_check_interval_seconds": 0.1},
        )
    context = _context(dag, task, case)
    if case["found"]:
        _leave(task, context, case["found"], ended=case["found_ended"])
    begun = time.monotonic()
    error = None
    try:
        task.execute(context)
    except Exception as failed:  # noqa: BLE001 - Airflow would catch it, and that is what is asked
        error = f"{type(failed).__name__}: {failed}"
    return {"error": error, "begun": begun, "seconds": time.monotonic() - begun}


def _context(dag: Any, task: Any, case: Json) -> Any:
    """As much of a task's context as operators look at."""
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


def _leave(task: Any, context: Any, memory: str, *, ended: bool) -> None:
    """A pod of this try, as a worker leaves it that dies: running, or ended since."""
    labels = {**task._get_ti_pod_labels(context)}
    resources = {"requests": {"memory": memory}, "limits": {"memory": memory}}
    env = [{"name": name, "value": value} for name, value in task.env_vars.items()]
    base = {"name": "base", "image": "none", "env": env, "resources": resources}
    body = {"metadata": {"name": "found", "labels": labels}, "spec": {"containers": [base]}}
    task.client.create_namespaced_pod(task.namespace, body)
    if ended:
        wait_for("its end", lambda: task.client.read_namespaced_pod("found", task.namespace).status.phase == "Failed")


def _fork(case: Json) -> tuple[int, int]:
    """A child that launches; its id, and the pipe that it answers by."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as answer:
                answer.write(json.dumps(launch(case)))
        except BaseException:  # noqa: BLE001 - the log of the launches tells it
            traceback.print_exc()
        finally:
            os._exit(0)  # a child never does what its parent has left to do
    os.close(writing)
    return child, reading


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Airflow prints is no answer
    warm = False
    for line in sys.stdin:
        cases = json.loads(line)
        if not warm:
            print(json.dumps(launch(cases.pop(0))), file=answers, flush=True)
            warm = True
        for begin in range(0, len(cases), AT_ONCE):
            for child, reading in [_fork(case) for case in cases[begin : begin + AT_ONCE]]:
                with os.fdopen(reading) as answer:
                    print(answer.read() or DIED, file=answers, flush=True)
                os.waitpid(child, 0)


if __name__ == "__main__":
    main()
