"""Sized tasks: synchronous, deferrable, with the decorator, and mapped. Each gets its features in a different way."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from airflow import DAG
from airflow.decorators import task
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator, SizerMixin
from kubernetes.client import models as k8s

from scenarios import FAST_POLLING, GIB, MAPPED_KILLED, MAPPED_ROWS, MIB, need_of, script_env

DAG_ARGUMENTS: dict[str, Any] = {
    "schedule": None,
    "start_date": datetime(2024, 1, 1, tzinfo=timezone.utc),
    "catchup": False,
}
RESOURCES = k8s.V1ResourceRequirements(
    requests={"memory": "8Gi", "cpu": "1", "ephemeral-storage": "1Gi"},
    limits={"memory": "8Gi", "nvidia.com/gpu": "1"},
)

with DAG("sized", params={"rows": 500, "need": 1000 * MIB}, **DAG_ARGUMENTS):
    SizedKubernetesPodOperator(
        task_id="work",
        container_resources=RESOURCES,
        env_vars=script_env(),
        features=lambda context: {"rows": context["params"]["rows"]},
        **FAST_POLLING,
    )


class CustomOperator(SizerMixin, KubernetesPodOperator):  # type: ignore[misc]
    """A custom operator with the mixin."""


with DAG("sized_deferrable", params={"rows": 500, "need": 1000 * MIB}, **DAG_ARGUMENTS):
    CustomOperator(
        task_id="work",
        container_resources=RESOURCES,
        env_vars=script_env(waits=True),
        feature_keys=["rows"],
        deferrable=True,
        **FAST_POLLING,
    )

with DAG("function", params={"rows": 500, "need": 1000 * MIB}, **DAG_ARGUMENTS):

    @task.sized_kubernetes(  # type: ignore[untyped-decorator]
        container_resources=RESOURCES,
        env_vars=script_env(),
        features={"rows": "{{ params.rows }}"},
        **FAST_POLLING,
    )
    def work() -> None:
        """The script of the fake pod runs instead."""

    work()


with DAG("sized_mapped", **DAG_ARGUMENTS):
    SizedKubernetesPodOperator.partial(task_id="work", container_resources=RESOURCES, **FAST_POLLING).expand_kwargs(
        [
            {
                "features": {"rows": rows},
                "env_vars": script_env(3 * GIB if index == MAPPED_KILLED else need_of(rows)),
            }
            for index, rows in enumerate(MAPPED_ROWS)
        ]
    )
