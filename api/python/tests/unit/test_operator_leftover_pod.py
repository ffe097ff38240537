"""Tests of a try that finds the ended pod of an earlier execution, whose worker crashed."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator

from airflow_provider_loadaware.operators import SizedKubernetesPodOperator

from .conftest import RECORDED, ScriptedServer, lift, prediction, task_context
from .recording_kubernetes import GIB, SIZING, Kubernetes, end, finish, make, memory

# With an older Kubernetes provider, Airflow adopts an ended pod, whose end is reported like that of any other pod.
IF_ENDED_PODS_ARE_DELETED = pytest.mark.skipif(
    "process_pod_deletion" not in KubernetesPodOperator.get_or_create_pod.__code__.co_names,
    reason="this provider does not delete ended pods",
)
EACH_CLASS = pytest.mark.parametrize("kind", [SizedKubernetesPodOperator, KubernetesPodOperator])


def leave_ended_pod(kubernetes: Kubernetes, context: Any, *how: Any, **more: Any) -> None:
    """Leave the ended pod of a try whose worker crashed."""
    pod = end(make()[0].build_pod_request_obj(context), *how, **more)
    kubernetes.leftovers, kubernetes.pod = [pod], pod


def create(operator: Any, context: Any) -> Any:
    pod = operator.build_pod_request_obj(context)
    for callback in operator.callbacks:
        callback.on_pod_manifest_created(pod_request=pod, operator=operator, context=context)
    return operator.get_or_create_pod(pod_request_obj=pod, context=context)


@IF_ENDED_PODS_ARE_DELETED
@EACH_CLASS
@pytest.mark.parametrize(("launched_by", "now"), [(1, 1), (1, 2), (2, 2)])
def test_an_unreported_kill_is_reported_and_lifted_before_its_pod_is_deleted(
    server: ScriptedServer, kind: Any, launched_by: int, now: int
) -> None:
    operator, kubernetes = make(kind, callbacks=[] if kind is not KubernetesPodOperator else [SIZING])
    server.answers["/predict"] = (200, prediction(10 * GIB))  # the server does not know the kill
    server.answers["/observe"] = lambda body: (200, RECORDED) if kubernetes.leftovers else (500, {})
    server.answers["/retry-lift"] = (200, lift(19 * GIB))
    leave_ended_pod(kubernetes, task_context(launched_by), 137, "OOMKilled")
    context = task_context(now)
    assert memory(create(operator, context)) == "19Gi"
    assert kubernetes.leftovers == []
    (report_body,) = server.bodies_of("/observe")
    assert (report_body["try_number"], report_body["outcome"]) == (launched_by, "oom_killed")
    assert report_body["allocated"]["memory_bytes"] == 10 * GIB
    (created,) = kubernetes.created
    assert created["spec"]["containers"][0]["resources"]["limits"]["memory"] == "19Gi"
    assert created["metadata"]["annotations"]["loadaware.io/source"] == "local-lift"
    assert operator.container_resources.limits["memory"] == "19Gi"


@IF_ENDED_PODS_ARE_DELETED
@EACH_CLASS
def test_the_end_of_the_new_pod_is_reported_too(server: ScriptedServer, kind: Any) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(kind, callbacks=[] if kind is not KubernetesPodOperator else [SIZING])
    leave_ended_pod(kubernetes, task_context(), 137, "OOMKilled")
    pod = create(operator, task_context())
    assert memory(pod) == "20Gi", "twice the killed allocation must be granted, because no amount was announced"
    kubernetes.pod = end(pod, 0, "Completed", phase="Succeeded")
    SIZING.on_pod_completion(pod=pod, operator=operator, context=task_context())
    assert [o["outcome"] for o in server.bodies_of("/observe")] == ["oom_killed", "success"]


@IF_ENDED_PODS_ARE_DELETED
@pytest.mark.parametrize("how", [(0, "Completed", None, "Succeeded"), (1, "Error")], ids=["success", "failed"])
def test_another_unreported_end_is_reported_and_lifts_nothing(server: ScriptedServer, how: Any) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    leave_ended_pod(kubernetes, task_context(), *how)
    assert memory(create(operator, task_context(2))) == "10Gi"
    assert [(o["try_number"], o["outcome"]) for o in server.bodies_of("/observe")] == [
        (1, "success" if how[0] == 0 else "failed")
    ]


@IF_ENDED_PODS_ARE_DELETED
def test_a_kept_pod_is_reported_once(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(on_finish_action="keep_pod")
    leave_ended_pod(kubernetes, task_context(), 137, "OOMKilled")
    pod = create(operator, task_context(2))
    assert kubernetes.created == [], "Airflow must adopt a kept pod"
    finish(operator, kubernetes, pod, task_context(2))
    assert [o["try_number"] for o in server.bodies_of("/observe")] == [1]


@IF_ENDED_PODS_ARE_DELETED
def test_a_rejection_after_an_unreported_kill_restores_the_static_request(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(arguments=["-Xmx$(LOADAWARE_MEMORY_MIB_50)m"])
    leave_ended_pod(kubernetes, task_context(), 137, "OOMKilled")
    kubernetes.rejections = [403]
    create(operator, task_context(2))
    first, second = (body["spec"]["containers"][0] for body in kubernetes.created)
    assert [c["resources"]["limits"]["memory"] for c in (first, second)] == ["20Gi", "8Gi"]
    assert [v["value"] for v in first["env"]] == [str(20 * GIB), "10240"]
    assert [v["value"] for v in second["env"]] == [str(8 * GIB), "4096"]
