"""A pricing pipeline: one pod per partition of a sale, each with the memory that its partition needs.

    list_partitions ──▶ predict_demand[0…n] ──▶ optimise_prices

`predict_demand` requests 350Gi, because its largest partition once used that much; most use 10Gi. Its `features` are
known before the launch: the region, and the numbers of products and stores, on which the memory depends most.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from kubernetes.client import models as k8s

from airflow_provider_loadaware.operators import SizedKubernetesPodOperator

try:
    from airflow.sdk import DAG, Param, task
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.decorators import task
    from airflow.models.param import Param

# A shell script that runs its arguments and writes the peak of the cgroup to the termination message.
MEASURED = """
"$@"; code=$?
peak=$(cat /sys/fs/cgroup/memory.peak 2>/dev/null) &&
  printf '{"memory_max_bytes": %s}' "$peak" >/dev/termination-log
exit $code
"""


def pod(partition: dict[str, Any]) -> dict[str, Any]:
    """Return the operator's arguments for one map index: the name of its partition and its features."""
    return {
        "arguments": ["predict", "--partition", partition["name"]],
        "features": {
            "product_count": partition["product_count"],
            "store_count": partition["store_count"],
            "region": partition["region"],
        },
    }


with DAG(
    "pricing",
    description=__doc__,
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    params={
        "region": Param("emea", enum=["emea", "amer", "apac"], description="Region in which the sale takes place"),
        "horizon_days": Param(28, type="integer", minimum=1, maximum=120),
    },
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
):

    @task
    def list_partitions(params: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the partitions of a sale; a real DAG would read them from a catalogue."""
        region = (params or {})["region"]
        sizes = [(1_253, 12), (840, 12), (95_000, 310), (2_210, 40)]
        return [
            {"name": f"{region}-{i:03}", "region": region, "product_count": products, "store_count": stores}
            for i, (products, stores) in enumerate(sizes)
        ]

    predict_demand = SizedKubernetesPodOperator.partial(
        task_id="predict_demand",
        name="predict-demand",
        image="registry.example.org/pricing:1",
        cmds=["sh", "-c", MEASURED, "--"],
        container_resources=k8s.V1ResourceRequirements(
            requests={"memory": "350Gi", "cpu": "6"}, limits={"memory": "350Gi"}
        ),
        max_memory="384Gi",  # the largest node
        deferrable=True,
    ).expand_kwargs(list_partitions().map(pod))

    # The macro limits the heap of the Java program to 80 % of the grant.
    # Without `features`, the DAG's params are sent.
    optimise_prices = SizedKubernetesPodOperator(
        task_id="optimise_prices",
        name="optimise-prices",
        image="registry.example.org/pricing-java:1",
        cmds=["java"],
        arguments=["{{ macros.loadaware.xmx(0.8) }}", "-jar", "optimise.jar", "--days", "{{ params.horizon_days }}"],
        container_resources=k8s.V1ResourceRequirements(requests={"memory": "64Gi"}, limits={"memory": "64Gi"}),
        min_memory="2Gi",
    )

    predict_demand >> optimise_prices
