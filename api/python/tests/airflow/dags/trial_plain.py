from __future__ import annotations
from datetime import datetime, timedelta
from airflow import DAG
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
with DAG("trial", schedule=None, start_date=datetime(2024,1,1)):
    for deferrable in (False, True):
        KubernetesPodOperator(task_id=f"plain_{deferrable}", namespace="jobs", image="x", name="p",
            deferrable=deferrable, startup_check_interval_seconds=1, poll_interval=0.5, retries=1, retry_delay=timedelta(seconds=1), log_pod_spec_on_failure=False,
            env_vars={"FAKE_POD": '{"need": 1000, "dies": "{{ \'failed\' if ti.try_number == 1 else \'\' }}"}'})
