"""A task without a pod. Callbacks report its outcome."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from airflow import DAG
from airflow.decorators import task
from airflow_provider_loadaware import callbacks

with DAG("no_pod", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=timezone.utc), catchup=False):

    @task(  # type: ignore[untyped-decorator]
        retries=1,
        retry_delay=timedelta(seconds=1),
        on_success_callback=callbacks.on_success,
        on_failure_callback=callbacks.on_failure,
        on_retry_callback=callbacks.on_retry,
    )
    def work(**context: Any) -> None:
        if context["ti"].try_number == 1:
            raise MemoryError("on purpose")

    work()
