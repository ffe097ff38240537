"""Tests of the changes that a grant makes to a pod."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.client import models as k8s

from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.grant import Grant, Static

GIB = 1 << 30
GRANT = Grant(10 * GIB, 10 * GIB, 1.5, "model", "why", "p-1")


def make(resources: Any = None, **container: Any) -> Any:
    base = k8s.V1Container(name="base", resources=resources, **container)
    other = k8s.V1Container(name="sidecar", resources=k8s.V1ResourceRequirements(limits={"memory": "1Gi"}))
    return k8s.V1Pod(metadata=k8s.V1ObjectMeta(annotations={"own": "1"}), spec=k8s.V1PodSpec(containers=[other, base]))


def apply(pod: Any, given: Grant = GRANT) -> None:
    pods.apply(pod, "base", given, pods.static_of(pods.base_container(pod, "base")))


def test_of_all_resources_only_memory_and_the_cpu_request_of_the_base_container_change() -> None:
    static = k8s.V1ResourceRequirements(
        requests={"memory": "350Gi", "cpu": "6", "ephemeral-storage": "5Gi", "nvidia.com/gpu": "1"},
        limits={"memory": "350Gi", "nvidia.com/gpu": "1"},
        claims=[SimpleNamespace(name="card")],
    )
    before, pod = copy.deepcopy(static), make(static)
    apply(pod)
    resources = pods.base_container(pod, "base").resources
    assert resources.requests == {"memory": "10Gi", "cpu": "1500m", "ephemeral-storage": "5Gi", "nvidia.com/gpu": "1"}
    assert resources.limits == {"memory": "10Gi", "nvidia.com/gpu": "1"}
    assert [c.name for c in resources.claims] == ["card"]
    assert pod.spec.containers[0].resources.limits == {"memory": "1Gi"}
    assert static == before, "the operator's own object must not change"


def test_a_cpu_limit_is_kept_and_bounds_the_request() -> None:
    pod = make(k8s.V1ResourceRequirements(limits={"cpu": "1", "memory": "1Gi"}))
    apply(pod)
    resources = pods.base_container(pod, "base").resources
    assert (resources.requests["cpu"], resources.limits["cpu"]) == ("1000m", "1")


def test_annotations_for_the_report_are_written() -> None:
    pod = make(k8s.V1ResourceRequirements(requests={"memory": "350Gi", "cpu": "6"}))
    apply(pod)
    assert pod.metadata.annotations["own"] == "1"
    assert pods.read_annotations(pod) == ("p-1", {"memory_bytes": 350 * GIB, "cpu_cores": 6.0})


def test_a_snapshot_restores_the_pod() -> None:
    static = k8s.V1ResourceRequirements(limits={"memory": "1Gi"})
    pod = make(static, args=["-Xmx$(LOADAWARE_MEMORY_MIB_50)m"])
    before = pods.Snapshot.of(pod, "base")
    apply(pod)
    assert env(pod) == {"LOADAWARE_MEMORY_BYTES": str(10 * GIB), "LOADAWARE_MEMORY_MIB_50": "5120"}
    before.restore()
    container = pods.base_container(pod, "base")
    assert (container.resources, container.env) == (static, None)
    assert pod.metadata.annotations == {"own": "1"}


@pytest.mark.parametrize(("label", "number"), [("3", 3), ("0", None), ("three", None), (None, None)])
def test_try_number_of_a_pod(label: Any, number: Any) -> None:
    pod = make()
    pod.metadata.labels = {"try_number": label} if label else None
    assert pods.try_number_of(pod) == number


def test_memory_variables_precede_variables_that_use_them() -> None:
    own = [k8s.V1EnvVar(name="JAVA_OPTS", value="-Xmx$(LOADAWARE_MEMORY_MIB_80)m")]
    pod = make(env=own)
    apply(pod)
    names = [v.name for v in pods.base_container(pod, "base").env]
    assert names == ["LOADAWARE_MEMORY_BYTES", "LOADAWARE_MEMORY_MIB_80", "JAVA_OPTS"]
    assert len(own) == 1


def test_a_variable_of_the_author_is_not_replaced() -> None:
    pod = make(env=[k8s.V1EnvVar(name="LOADAWARE_MEMORY_BYTES", value="mine")])
    apply(pod)
    assert env(pod) == {"LOADAWARE_MEMORY_BYTES": "mine"}


@pytest.mark.parametrize("value", ["{{ x }}", "lots", None, "0"])
def test_an_unreadable_or_zero_request_counts_as_none(value: Any) -> None:
    container = k8s.V1Container(name="base", resources=k8s.V1ResourceRequirements(requests={"memory": value}))
    assert pods.static_of(container) == Static()


def env(pod: Any) -> dict[str, str]:
    return {v.name: v.value for v in pods.base_container(pod, "base").env}
