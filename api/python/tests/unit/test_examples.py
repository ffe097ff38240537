"""Tests that the examples parse as DAGs and build the documented pods."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow_provider_loadaware import pod as pods

from .conftest import ScriptedServer, prediction, task_context

EXAMPLES = Path(__file__).parents[2] / "examples"
GIB = 1 << 30


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pipeline_maps_its_partitions() -> None:
    example = load("pricing_pipeline")
    assert example.predict_demand.operator_class.__name__ == "SizedKubernetesPodOperator"
    partition = {"name": "p", "region": "emea", "product_count": 7, "store_count": 2}
    assert example.pod(partition)["features"] == {"region": "emea", "product_count": 7, "store_count": 2}


def test_the_heap_of_the_java_program_follows_the_grant(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator = load("pricing_pipeline").optimise_prices
    operator.__dict__["hook"] = SimpleNamespace(is_in_cluster=False, get_namespace=lambda: "ns")
    from airflow_provider_loadaware.plugin import xmx

    assert operator.arguments[0] == "{{ macros.loadaware.xmx(0.8) }}"
    operator.arguments = [xmx(0.8)]  # as Airflow renders it
    container = pods.base_container(operator.build_pod_request_obj(task_context()), "base")
    assert container.args == ["-Xmx$(LOADAWARE_MEMORY_MIB_80)m"]
    assert {v.name: v.value for v in container.env}["LOADAWARE_MEMORY_MIB_80"] == "8192"


def test_macros_are_registered() -> None:
    from airflow_provider_loadaware._compat import AIRFLOW_3

    if AIRFLOW_3:
        from airflow.sdk.execution_time import macros
        from airflow.sdk.plugins_manager import integrate_macros_plugins
    else:
        from airflow import macros
        from airflow.plugins_manager import integrate_macros_plugins
    integrate_macros_plugins()
    assert macros.loadaware.xmx(0.8) == "-Xmx$(LOADAWARE_MEMORY_MIB_80)m"
    assert macros.loadaware.mib() == "$(LOADAWARE_MEMORY_MIB_100)"
