"""Tasks with plans, whose pods run until their memory limit is large enough."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow import DAG
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from kubernetes.client import models as k8s

from scenarios import FAST_POLLING, PHASED_CASES

with DAG("phased", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=timezone.utc), catchup=False):
    for task_id, case in PHASED_CASES.items():
        SizedKubernetesPodOperator(
            task_id=task_id,
            container_resources=k8s.V1ResourceRequirements(requests={"memory": "8Gi"}, limits={"memory": "8Gi"}),
            env_vars=case.script_env(),
            features={"rows": 500},
            deferrable=case.deferrable,
            loadaware_conn_id="loadaware_phase_outage" if case.outage else "loadaware_planned",
            **FAST_POLLING,
        )
