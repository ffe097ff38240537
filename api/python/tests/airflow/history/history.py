"""A DAG without loadaware: Airflow's own operator, declared params and no measured peaks."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow import DAG
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import models as k8s

try:
    from airflow.providers.standard.operators.empty import EmptyOperator
except ImportError:  # Airflow 2 has it in the core package
    from airflow.operators.empty import EmptyOperator

RESOURCES = k8s.V1ResourceRequirements(
    requests={"memory": "8Gi", "cpu": "1500m"}, limits={"memory": "8Gi", "nvidia.com/gpu": "1"}
)

with DAG(
    "history",
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    params={"rows": 500, "region": "emea", "full": False, "api_key": "never sent"},
    tags=["nightly", "emea"],
    default_args={"owner": "pricing"},
):
    begin = EmptyOperator(task_id="begin")
    work = KubernetesPodOperator(
        task_id="work", image="registry:5000/work:1.2", container_resources=RESOURCES, params={"depth": 2}, retries=2
    )
    parts = KubernetesPodOperator.partial(task_id="part", image="none", container_resources=RESOURCES).expand(
        arguments=[["a"], ["b"]]
    )
    begin >> work >> parts
