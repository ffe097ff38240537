"""A DAG whose grants Kubernetes rejects, and a DAG whose loadaware server hangs."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow import DAG
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from kubernetes.client import models as k8s

from scenarios import FAST_POLLING, GIB, MIB, need_of, script_env

DAG_ARGUMENTS = {"schedule": None, "start_date": datetime(2024, 1, 1, tzinfo=timezone.utc), "catchup": False}

with DAG("rejected", **DAG_ARGUMENTS):
    # The quota rejects more than the static request; admission rejects less.
    for rule, static, at in (("quota", "1Gi", GIB), ("admission", "8Gi", 8 * GIB)):
        SizedKubernetesPodOperator(
            task_id=rule,
            container_resources=k8s.V1ResourceRequirements(requests={"memory": static}, limits={"memory": static}),
            env_vars=script_env(500 * MIB, **{rule: str(at)}),
            features={"rows": 900},
            **FAST_POLLING,
        )

with DAG("outage", **DAG_ARGUMENTS):
    SizedKubernetesPodOperator(
        task_id="work",
        container_resources=k8s.V1ResourceRequirements(requests={"memory": "8Gi"}, limits={"memory": "8Gi"}),
        env_vars=script_env(need_of(500)),
        features={"rows": 500},
        loadaware_conn_id="loadaware_hanging",
        **FAST_POLLING,
    )
