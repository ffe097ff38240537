"""The dependencies between the tasks of a DAG, which the server needs to forecast its runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from airflow_provider_loadaware.service import RejectedError, Service
from airflow_provider_loadaware.state import FileStore

MAX_TASKS = 2000  # the server rejects a larger structure
MAX_DAGS = 1000
TIMEOUT_SECONDS = 0.4  # the launch of a task waits for this request


def of_dag(dag: Any) -> list[dict[str, Any]]:
    """Return the tasks of a DAG with their direct upstream tasks, in alphabetical order."""
    return [
        {"task_id": task.task_id, "upstream": sorted(task.upstream_task_ids)}
        for task in sorted(getattr(dag, "tasks", ()), key=lambda task: str(task.task_id))
    ]


def send_changed(service: Service, namespace: str, dag: Any, folder: Path | None) -> bool:
    """Send the structure of a DAG unless this machine last sent the same one to the same server.

    Returns whether it was sent. Without a folder nothing is sent, because every try would send it again. Without tasks,
    or with more than MAX_TASKS, nothing is sent either. A structure that the server rejects permanently is not sent
    again. Exceptions of Service.request propagate.
    """
    tasks = of_dag(dag)
    if folder is None or not 0 < len(tasks) <= MAX_TASKS:
        return False
    digest = hashlib.sha256(json.dumps([service.base_url, tasks]).encode()).hexdigest()
    name = hashlib.sha256(f"{namespace}\0{dag.dag_id}".encode()).hexdigest()[:40]
    store = FileStore(folder, "structures", MAX_DAGS)
    if (store.get(name) or {}).get("digest") == digest:
        return False
    path = f"/dags/{quote(str(dag.dag_id), safe='')}/structure?{urlencode({'namespace': namespace})}"
    try:
        service.request("PUT", path, {"tasks": tasks}, seconds=TIMEOUT_SECONDS)
    except RejectedError as error:
        if not error.retryable:
            store.put(name, {"digest": digest})
        raise
    store.put(name, {"digest": digest})
    return True
