"""A pipeline whose archived runs a campaign reproduces, and the scheduler and the maintainer DAG of campaigns."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from airflow import DAG
from airflow_provider_loadaware.campaigns import loadaware_campaign_dags
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from kubernetes.client import models as k8s

from scenarios import CAMPAIGN_DAG, CAMPAIGN_MAINTAINER, CAMPAIGN_SCHEDULER, CAMPAIGN_TASKS, FAST_POLLING, script_env

# A run whose conf has a text in `fails` fails in its first attempt only. A run id ends with the number of the attempt.
FAILS = "\"{{ dag_run.conf.get('fails', '') if dag_run.run_id.endswith('__1') else '' }}\""

with DAG(
    CAMPAIGN_DAG,
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    params={"rows": 500, "need": 1},
):
    for task_id in CAMPAIGN_TASKS:
        SizedKubernetesPodOperator(
            task_id=task_id,
            container_resources=k8s.V1ResourceRequirements(requests={"memory": "1Gi"}, limits={"memory": "1Gi"}),
            env_vars=script_env("{{ params.need }}", fails=FAILS),
            features={"rows": "{{ params.rows }}"},
            **{**FAST_POLLING, "retries": 2},
        )

# These DAGs are paused until test_campaign needs them, because their runs would slow the other tests down.
scheduler, maintainer = loadaware_campaign_dags(
    scheduler_dag_id=CAMPAIGN_SCHEDULER,
    maintainer_dag_id=CAMPAIGN_MAINTAINER,
    pod_tasks=CAMPAIGN_TASKS,
    tick=timedelta(seconds=2),
    is_paused_upon_creation=True,
)
