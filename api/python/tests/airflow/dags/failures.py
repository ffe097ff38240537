"""A DAG with a synchronous task for each failure case, and a DAG with deferrable tasks for some of them."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow import DAG
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from kubernetes.client import models as k8s

from scenarios import FAILURE_CASES, FAILURE_CASES_DEFERRABLE, FAST_POLLING, UNSCHEDULABLE_SECONDS

SIDECAR = k8s.V1Pod(
    metadata=k8s.V1ObjectMeta(),
    spec=k8s.V1PodSpec(containers=[k8s.V1Container(name="base"), k8s.V1Container(name="proxy", image="none")]),
)

for dag_id, deferrable, task_ids in (
    ("failures", False, tuple(FAILURE_CASES)),
    ("failures_deferrable", True, FAILURE_CASES_DEFERRABLE),
):
    with DAG(
        dag_id,
        schedule=None,
        start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
        catchup=False,
    ):
        for task_id in task_ids:
            SizedKubernetesPodOperator(
                task_id=task_id,
                container_resources=k8s.V1ResourceRequirements(requests={"memory": "1Gi"}, limits={"memory": "1Gi"}),
                env_vars=FAILURE_CASES[task_id].script_env(waits=deferrable),
                full_pod_spec=SIDECAR if task_id == "sidecar_oom" else None,
                init_containers=[k8s.V1Container(name="fetch", image="none")] if task_id == "init_oom" else None,
                startup_timeout_seconds=UNSCHEDULABLE_SECONDS if task_id == "unschedulable" else 600,
                deferrable=deferrable,
                **FAST_POLLING,
            )
