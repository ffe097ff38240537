"""A pipeline of twelve tasks in four stages, and the scheduler and the maintainer DAG of campaigns."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow import DAG
from airflow_provider_loadaware.campaign_branches import Reproduction
from airflow_provider_loadaware.campaigns import loadaware_campaign_dags
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from kubernetes.client import models as k8s

from scenarios import FAST_POLLING, script_env
from trial import pipeline

RESOURCES = k8s.V1ResourceRequirements(
    requests={"memory": str(pipeline.STATIC)}, limits={"memory": str(pipeline.STATIC)}
)
# A run whose conf has a text in `fails` fails in its first attempt only. A run id ends with the number of the attempt.
FAILS = "\"{{ dag_run.conf.get('fails', '') if dag_run.run_id.endswith('__1') else '' }}\""


def profile(run: Reproduction) -> None:
    """Fail the profiling of one run while the file PROBLEM exists. The pods report the peaks themselves."""
    if run.number == pipeline.FAILS_TO_PROFILE and Path(os.environ[pipeline.PROBLEM]).exists():
        raise RuntimeError("the store of the peaks is unavailable")


with DAG(
    pipeline.DAG,
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=64,  # the campaign bounds its runs
    params={"rows": 500, "need": 1},
):
    previous: list[Any] = []
    for stage in pipeline.STAGES:
        tasks = [
            SizedKubernetesPodOperator(
                task_id=task_id,
                container_resources=RESOURCES,
                env_vars=script_env(
                    "{{ params.need }}", **({"fails": FAILS} if task_id == pipeline.FAILING_TASK else {})
                ),
                features={"rows": "{{ params.rows }}"},
                **{**FAST_POLLING, "retries": 8},  # each crash of the scheduler costs its tasks a try
            )
            for task_id in stage
        ]
        if previous:
            for task in tasks:
                previous >> task
        previous = tasks

scheduler, maintainer = loadaware_campaign_dags(
    scheduler_dag_id=pipeline.SCHEDULER,
    maintainer_dag_id=pipeline.MAINTAINER,
    pod_tasks=pipeline.TASKS,
    profile=profile,
    tick=timedelta(seconds=int(os.environ[pipeline.TICK])),
    lease=timedelta(seconds=30),
)
