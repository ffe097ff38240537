"""Tasks with Airflow's own operator. The cluster policy sizes all of them except `denied` and `opted_out`."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow import DAG
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import models as k8s

from scenarios import FAST_POLLING, GIB, MIB, need_of, script_env

RESOURCES = k8s.V1ResourceRequirements(requests={"memory": "8Gi"}, limits={"memory": "8Gi"})

with DAG(
    "policy",
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    params={"rows": 500, "need": 1000 * MIB},
):
    for task_id in ("sync", "deferrable", "denied"):
        KubernetesPodOperator(
            task_id=task_id,
            container_resources=RESOURCES,
            env_vars=script_env(waits=task_id == "deferrable"),
            deferrable=task_id == "deferrable",
            **FAST_POLLING,
        )
    KubernetesPodOperator(
        task_id="opted_out",
        container_resources=RESOURCES,
        env_vars=script_env(),
        annotations={"loadaware.io/enabled": "false"},
        **FAST_POLLING,
    )
    KubernetesPodOperator.partial(task_id="mapped", container_resources=RESOURCES, **FAST_POLLING).expand(
        env_vars=[script_env(need_of(500)), script_env(3 * GIB)]
    )
