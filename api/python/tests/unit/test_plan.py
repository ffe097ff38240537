"""Tests of plans: their validation, their storage in the pod, the start of a pod, and its state and usage."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from kubernetes.client import models as k8s

from airflow_provider_loadaware import plan as plans
from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.grant import Grant, Static
from airflow_provider_loadaware.plan import InvalidPlanError, Plan
from airflow_provider_loadaware.pod_state import PodState, Resources, Usage
from loadaware_client.models.prediction import Prediction

from .conftest import prediction
from .fake_cluster import PLAN

GIB = 1 << 30
GRANT = Grant(10 * GIB, 20 * GIB, 2.0, "model", "why", "p-1")


def plan_answer(**changes: Any) -> dict[str, Any]:
    return {
        "version": 7,
        "mode": "memory",
        "start": {"memory_bytes": 4 * GIB, "cpu_millicores": 500},
        "static_bytes": 20 * GIB,
        "steps": [{"after_seconds": 60, "level_bytes": GIB, "memory_bytes": 8 * GIB, "ask_by_seconds": 45}],
        "promised": 0.01,
        "poll_seconds": 5,
        "reaction_seconds": 10,
        **changes,
    }


def parse(
    static: Static | None = None, maximum: int | None = None, grant: Grant = GRANT, **changes: Any
) -> Plan | None:
    answer = Prediction.from_dict(prediction(10 * GIB, plan=plan_answer(**changes)))
    return Plan.of_prediction(answer, grant, static or Static(), maximum)


def test_a_plan_of_a_prediction() -> None:
    plan = parse(Static(cpu_limit=4.0), maximum=64 * GIB)
    assert plan == Plan(
        version=7,
        mode="memory",
        start_bytes=4 * GIB,
        static_bytes=20 * GIB,
        request_share=0.5,
        poll_seconds=5,
        reaction_seconds=10,
        ask_by_seconds=(45,),
        start_cpu=500,
        static_cpu=2000,
        cpu_limit=4000,
        maximum=64 * GIB,
    )
    assert plan.acts and plan.request_of(8 * GIB) == 4 * GIB


def test_no_plan_results_from_a_prediction_without_a_plan_or_with_mode_off() -> None:
    answer = Prediction.from_dict(prediction(10 * GIB))
    assert Plan.of_prediction(answer, GRANT, Static(), None) is None
    assert parse(mode="off") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"poll_seconds": 0},
        {"reaction_seconds": 10_000},
        {"poll_seconds": "soon"},
        {"version": 0},
        {"start": {"memory_bytes": 1, "cpu_millicores": None}},
        {"start": {"memory_bytes": float("inf"), "cpu_millicores": None}},
        {"start": {"memory_bytes": 4 * GIB, "cpu_millicores": -3}},
    ],
    ids=str,
)
def test_an_invalid_plan_is_rejected(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidPlanError):
        parse(**changes)


def test_an_observed_plan_and_a_plan_without_savings_do_not_act() -> None:
    observed = parse(mode="observe")
    assert observed is not None and not observed.acts
    same = parse(start={"memory_bytes": 30 * GIB, "cpu_millicores": None})
    assert same is not None and not same.acts and same.start_bytes == 20 * GIB


def test_without_a_granted_cpu_the_plan_does_not_resize_the_cpu() -> None:
    plan = parse(grant=dataclasses.replace(GRANT, cpu_request=None))
    assert plan is not None and plan.resizes_memory and not plan.resizes_cpu


def pod_of(requests: dict[str, str], limits: dict[str, str]) -> Any:
    resources = k8s.V1ResourceRequirements(requests=requests, limits=limits)
    container = k8s.V1Container(name="base", resources=resources, args=["$(LOADAWARE_MEMORY_MIB_50)"])
    return k8s.V1Pod(metadata=k8s.V1ObjectMeta(), spec=k8s.V1PodSpec(containers=[container]))


def test_a_pod_starts_with_its_plan_and_carries_it() -> None:
    pod = pod_of({"memory": "1Gi", "ephemeral-storage": "1Gi"}, {"memory": "1Gi", "nvidia.com/gpu": "1"})
    static = pods.static_of(pod.spec.containers[0])
    pods.apply(pod, "base", GRANT, static)
    plan = parse()
    assert plan is not None
    pods.start_with(pod, "base", plan)
    container = pod.spec.containers[0]
    assert container.resources.limits == {"memory": "4Gi", "nvidia.com/gpu": "1"}
    assert container.resources.requests == {"memory": "2Gi", "cpu": "500m", "ephemeral-storage": "1Gi"}
    assert {v.name: v.value for v in container.env}["LOADAWARE_MEMORY_MIB_50"] == str(10 * 1024)
    assert plans.of_pod(pod) == plan


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 1}'])
def test_an_unreadable_plan_of_a_pod_counts_as_none(text: str) -> None:
    pod = k8s.V1Pod(metadata=k8s.V1ObjectMeta(annotations={plans.ANNOTATION: text}))
    assert plans.of_pod(pod) is None


def test_a_plan_round_trips() -> None:
    assert Plan.from_dict(PLAN.to_dict()) == PLAN


def test_without_resources_in_the_status_those_of_the_spec_are_in_force() -> None:
    resources = {"requests": {"cpu": "250m"}, "limits": {"memory": "1Gi"}}
    pod = {"spec": {"containers": [{"name": "base", "resources": resources}]}, "status": {"phase": "Pending"}}
    state = PodState.of(pod, "base")
    assert state.in_force == Resources(limit=GIB, request=None, cpu=250)
    assert state.is_settled and not state.ended and state.started_at is None


def test_metrics_without_the_container_have_no_usage() -> None:
    metrics = {"timestamp": "2026-01-01T00:00:00Z", "containers": [{"name": "proxy", "usage": {"memory": "1Ki"}}]}
    assert Usage.of(metrics, "base") is None
    assert Usage.of({}, "base") is None
