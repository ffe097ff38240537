"""Tasks with Airflow's own operator, which only the policy sizes."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow import DAG
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import models as k8s

from scenarios import DEFERRED_SECONDS, FAST_POLLING, GIB, MIB, need_of, part

EIGHT = k8s.V1ResourceRequirements(requests={"memory": "8Gi"}, limits={"memory": "8Gi"})

with DAG(
    "plain",
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    params={"rows": 500, "need": 1000 * MIB},
):
    for task_id in ("sync", "deferrable", "denied"):
        KubernetesPodOperator(
            task_id=task_id,
            container_resources=EIGHT,
            env_vars=part(seconds=DEFERRED_SECONDS if task_id == "deferrable" else 0.5),
            deferrable=task_id == "deferrable",
            **FAST_POLLING,
        )
    KubernetesPodOperator(
        task_id="opted_out",
        container_resources=EIGHT,
        env_vars=part(),
        annotations={"loadaware.io/enabled": "false"},
        **FAST_POLLING,
    )
    KubernetesPodOperator.partial(task_id="mapped", container_resources=EIGHT, **FAST_POLLING).expand(
        env_vars=[part(need_of(500)), part(3 * GIB)]
    )
