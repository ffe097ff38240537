"""The operator: sync, deferrable and mapped, each with its own way of telling features."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from airflow import DAG
from airflow.decorators import task
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator, SizerMixin
from kubernetes.client import models as k8s

from scenarios import DEFERRED_SECONDS, GIB, MAPPED_HUNGRY, MAPPED_ROWS, MIB, QUICK, need_of, part

ALWAYS: dict[str, Any] = {
    "schedule": None,
    "start_date": datetime(2024, 1, 1, tzinfo=timezone.utc),
    "catchup": False,
}
EIGHT = k8s.V1ResourceRequirements(
    requests={"memory": "8Gi", "cpu": "1", "ephemeral-storage": "1Gi"},
    limits={"memory": "8Gi", "nvidia.com/gpu": "1"},
)

with DAG("sized", params={"rows": 500, "need": 1000 * MIB}, **ALWAYS):
    SizedKubernetesPodOperator(
        task_id="work",
        container_resources=EIGHT,
        env_vars=part(),
        features=lambda context: {"rows": context["params"]["rows"]},
        **QUICK,
    )


class Own(SizerMixin, KubernetesPodOperator):  # type: ignore[misc]
    """As an operator of one's own is sized."""


with DAG("sized_deferrable", params={"rows": 500, "need": 1000 * MIB}, **ALWAYS):
    Own(
        task_id="work",
        container_resources=EIGHT,
        env_vars=part(seconds=DEFERRED_SECONDS),
        feature_keys=["rows"],
        deferrable=True,
        **QUICK,
    )

with DAG("function", params={"rows": 500, "need": 1000 * MIB}, **ALWAYS):

    @task.sized_kubernetes(  # type: ignore[untyped-decorator]
        container_resources=EIGHT,
        env_vars=part(),
        features={"rows": "{{ params.rows }}"},
        **QUICK,
    )
    def work() -> None:
        """The pod plays its part instead."""

    work()


with DAG("sized_mapped", **ALWAYS):
    SizedKubernetesPodOperator.partial(task_id="work", container_resources=EIGHT, **QUICK).expand_kwargs(
        [
            {
                "features": {"rows": rows},
                "env_vars": part(3 * GIB if index == MAPPED_HUNGRY else need_of(rows)),
            }
            for index, rows in enumerate(MAPPED_ROWS)
        ]
    )
