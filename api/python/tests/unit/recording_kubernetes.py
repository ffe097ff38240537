"""Operators with a Kubernetes client that records the created pods."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.client import models as k8s
from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware import pod_callbacks
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator

GIB = 1 << 30
LogLines = Callable[[], list[str]]
SIZING = pod_callbacks.SizingCallback
STATIC = k8s.V1ResourceRequirements(requests={"memory": "8Gi", "cpu": "2"}, limits={"memory": "8Gi"})


class Kubernetes:
    """Serves one pod, a log, and the leftover pods of an earlier execution."""

    def __init__(self) -> None:
        self.pod: Any = None
        self.leftovers: list[Any] = []
        self.log = ""
        self.rejections: list[int] = []  # statuses with which the next creations fail
        self.created: list[Any] = []  # bodies of all creations, also rejected ones

    def create_namespaced_pod(self, body: Any, namespace: str, **kwargs: Any) -> Any:
        self.created.append(body)
        if self.rejections:
            raise ApiException(status=self.rejections.pop(0))
        return body

    def list_namespaced_pod(self, **kwargs: Any) -> Any:
        return SimpleNamespace(items=list(self.leftovers))

    def read_namespaced_pod(self, name: str, namespace: str, **kwargs: Any) -> Any:
        if self.pod is None:
            raise ApiException(status=404)
        return self.pod

    def read_namespaced_pod_log(self, *args: Any, **kwargs: Any) -> Any:
        assert kwargs["_preload_content"] is False
        return SimpleNamespace(data=self.log.encode())

    def patch_namespaced_pod(self, **kwargs: Any) -> None: ...

    def delete_namespaced_pod(self, *args: Any, **kwargs: Any) -> None:
        self.leftovers.clear()

    @property
    def api_client(self) -> Any:
        return SimpleNamespace(sanitize_for_serialization=lambda pod: pod.to_dict())


def make(kind: Any = SizedKubernetesPodOperator, **kwargs: Any) -> tuple[Any, Kubernetes]:
    kwargs = {"container_resources": STATIC, "name": "n", "namespace": "ns", "image": "i", **kwargs}
    operator = kind(task_id="predict_demand", **kwargs)
    kubernetes = Kubernetes()
    operator.__dict__["hook"] = SimpleNamespace(is_in_cluster=False, core_v1_client=kubernetes)
    return operator, kubernetes


def memory(pod: Any) -> str | None:
    resources = pods.base_container(pod, "base").resources
    assert resources.requests["memory"] == resources.limits["memory"]
    return str(resources.limits["memory"])


def end(pod: Any, exit_code: int, reason: str, message: str | None = None, phase: str = "Failed") -> Any:
    ended = k8s.V1ContainerStateTerminated(exit_code=exit_code, reason=reason, message=message)
    status = k8s.V1ContainerStatus(
        name="base", state=k8s.V1ContainerState(terminated=ended), image="i", image_id="i", ready=False, restart_count=0
    )
    pod.status = k8s.V1PodStatus(phase=phase, container_statuses=[status])
    return pod


def finish(operator: Any, kubernetes: Kubernetes, pod: Any, context: Any) -> None:
    """End a try as Airflow does: its `cleanup` raises if the pod failed, whatever the provider does."""
    kubernetes.pod = pod
    failed = pod.status.phase != "Succeeded"
    with pytest.raises(Exception, match="returned a failure") if failed else contextlib.nullcontext():
        operator._try_context = context  # launch and resumption set it
        operator.cleanup(pod, pod)
