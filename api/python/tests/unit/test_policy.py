"""Tests of the hooks of Airflow's cluster policy: which tasks they enable, and that parsing opens no connection."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.job import KubernetesJobOperator
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import models as k8s

from airflow_provider_loadaware import callbacks, policy
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from airflow_provider_loadaware.pod_callbacks import SizingCallback

from .conftest import ScriptedServer, prediction, task_context

try:
    from airflow.sdk import DAG, BaseOperator
except ImportError:
    from airflow import DAG
    from airflow.models import BaseOperator

CONNECT = socket.create_connection  # before `no_connections` replaces it
DENY, ALLOW = "AIRFLOW__LOADAWARE__POLICY_DENY", "AIRFLOW__LOADAWARE__POLICY_ALLOW"


@pytest.fixture(autouse=True)
def no_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a socket was opened while a DAG was parsed")

    monkeypatch.setattr(socket, "create_connection", reject)


def in_dag(make: Any) -> Any:
    with DAG("pricing", schedule=None):
        return make()


def pod_task(**kwargs: Any) -> Any:
    return in_dag(lambda: KubernetesPodOperator(task_id="load", name="n", image="i", **kwargs))


def test_no_task_is_sized_by_default() -> None:
    task = pod_task()
    policy.task_policy(task)
    assert task.callbacks == []


def test_an_allowed_task_gets_the_callbacks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "other.*, pricing.*")
    task = pod_task()
    for _ in range(2):
        policy.task_policy(task)
    assert task.callbacks == [SizingCallback]
    assert task.on_retry_callback == [callbacks.on_retry]
    assert task.on_failure_callback == [callbacks.on_failure]


def test_callbacks_of_the_author_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "*")

    def own(context: Any) -> None: ...

    task = pod_task(on_failure_callback=own)
    policy.task_policy(task)
    assert task.on_failure_callback == [own, callbacks.on_failure]


def test_a_mapped_task_gets_the_callbacks_for_all_map_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "*")
    mapped = in_dag(
        lambda: KubernetesPodOperator.partial(task_id="load", name="n", image="i").expand(arguments=[["1"], ["2"]])
    )
    policy.task_policy(mapped)
    assert mapped.partial_kwargs["callbacks"] == [SizingCallback]
    assert mapped.partial_kwargs["on_retry_callback"] == [callbacks.on_retry]


@pytest.mark.parametrize(
    ("allow", "deny", "annotation", "sized"),
    [
        ("*", "pricing.*", None, False),
        ("*", "*.load", None, False),
        ("*", "other.*", None, True),
        ("*", "", "false", False),
        ("", "", "true", True),
        ("*", "*", "true", True),
        ("*", "", "invalid", True),
    ],
)
def test_globs_and_annotations_decide_which_tasks_are_sized(
    monkeypatch: pytest.MonkeyPatch, allow: str, deny: str, annotation: str | None, sized: bool
) -> None:
    monkeypatch.setenv(ALLOW, allow)
    monkeypatch.setenv(DENY, deny)
    task = pod_task(annotations={policy.ENABLED: annotation} if annotation else None)
    policy.task_policy(task)
    assert (task.callbacks == [SizingCallback]) is sized


def test_loadaware_disabled_turns_the_cluster_policy_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "*")
    monkeypatch.setenv("LOADAWARE_DISABLED", "yes")
    task = pod_task()
    policy.task_policy(task)
    assert task.callbacks == []


def test_tasks_without_pods_or_with_sizer_mixin_get_no_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "*")
    own = in_dag(lambda: SizedKubernetesPodOperator(task_id="own", name="n", image="i"))
    other = in_dag(lambda: BaseOperator(task_id="other"))
    for task in (own, other):
        policy.task_policy(task)
        assert not task.on_failure_callback
    assert own.callbacks == []


def test_an_operator_without_a_launch_callback_is_marked_for_pod_mutation_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "*")
    task = in_dag(lambda: KubernetesJobOperator(task_id="job", name="n", image="i"))
    policy.task_policy(task)
    assert task.annotations == {policy.ENABLED: policy.BY_HOOK}
    assert task.on_success_callback == [callbacks.on_success]


def test_a_marked_pod_is_sized_only_inside_a_running_task(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_provider_loadaware import _compat

    monkeypatch.setattr(socket, "create_connection", CONNECT)  # this test connects
    server.answers["/predict"] = (200, prediction(1 << 30))
    task = in_dag(lambda: KubernetesJobOperator(task_id="job", name="n", image="i"))

    def new_pod() -> Any:
        annotations = {policy.ENABLED: policy.BY_HOOK}
        containers = [k8s.V1Container(name="base")]
        return k8s.V1Pod(metadata=k8s.V1ObjectMeta(annotations=annotations), spec=k8s.V1PodSpec(containers=containers))

    outside = new_pod()
    policy.pod_mutation_hook(outside)
    assert outside.spec.containers[0].resources is None and server.requests == []
    monkeypatch.setattr(_compat, "current_context", lambda: task_context(task=task))
    inside = new_pod()
    policy.pod_mutation_hook(inside)
    assert inside.spec.containers[0].resources.limits == {"memory": "1Gi"}


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_deferrable_task_is_marked_if_its_provider_calls_no_callback(
    monkeypatch: pytest.MonkeyPatch, deferrable: bool
) -> None:
    def execute_async(self: Any, context: Any) -> None: ...

    monkeypatch.setenv(ALLOW, "*")
    monkeypatch.setattr(KubernetesPodOperator, "execute_async", execute_async)
    task = pod_task(deferrable=deferrable)
    policy.task_policy(task)
    assert (task.annotations == {policy.ENABLED: policy.BY_HOOK}) is deferrable


def test_the_hooks_raise_nothing_for_an_unexpected_object() -> None:
    policy.task_policy(object())
    policy.pod_mutation_hook(object())
