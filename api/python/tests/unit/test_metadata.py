"""Tests of the metadata that is sent: only allow-listed facts, within limits; an error never prevents a launch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.client import models as k8s

from airflow_provider_loadaware import metadata

from .conftest import RECORDED, ScriptedServer, connect, prediction, task_context
from .recording_kubernetes import GIB, LogLines, end, finish, make, memory

TASK = {"task_type": "SizedEksPodOperator", "owner": "pricing", "pool": "heavy", "queue": "gpu", "params": {"depth": 2}}


def pod_of(**container: Any) -> k8s.V1Pod:
    spec = k8s.V1PodSpec(containers=[k8s.V1Container(name="base", **container)], node_selector={"pool": "highmem"})
    return k8s.V1Pod(metadata=k8s.V1ObjectMeta(namespace="jobs"), spec=spec)


def context(task: Any, **dag: Any) -> dict[str, Any]:
    return {"task": task, "dag": SimpleNamespace(**{"params": {"rows": 1, "api_key": "x"}, "tags": {"b", "a"}, **dag})}


def test_only_allow_listed_facts_are_sent() -> None:
    limits = {"memory": "8Gi", "nvidia.com/gpu": "1"}
    resources = k8s.V1ResourceRequirements(limits=limits)
    secret = k8s.V1EnvVar(name="PASSWORD", value="s3cret")
    pod = pod_of(image="registry:5000/pricing:1.2", resources=resources, args=["s3cret"], env=[secret])
    assert metadata.of_try(context(SimpleNamespace(**TASK)), pod, "base") == {
        "operator": "EksPodOperator",
        "owner": "pricing",
        "pool": "heavy",
        "queue": "gpu",
        "tags": ["a", "b"],
        "params": ["depth", "rows"],
        "image": "registry:5000/pricing",
        "gpu": ["nvidia.com/gpu=1"],
        "kubernetes_namespace": "jobs",
        "node_selector": ["pool=highmem"],
    }


@pytest.mark.parametrize(
    ("reference", "want"),
    [
        ("pricing", "pricing"),
        ("pricing:1", "pricing"),
        ("registry:5000/team/pricing", "registry:5000/team/pricing"),
        ("registry/pricing@sha256:0123", "registry/pricing"),
        ("registry/pricing:1@sha256:0123", "registry/pricing"),
        (None, None),
        ("", None),
    ],
)
def test_an_image_is_sent_without_its_tag_and_digest(reference: Any, want: Any) -> None:
    assert metadata.of_try({}, pod_of(image=reference), "base").get("image") == want


class HostileTask:
    """A task whose attributes are too long, unprintable or of another type, or raise an exception."""

    task_type = 7
    pool = "x" * 201
    queue = "a\x00b"

    def __init__(self) -> None:
        self.params = {f"{'p' * 100}{n:06}": 1 for n in range(1000)}

    @property
    def owner(self) -> str:
        raise RuntimeError("no owner")


def test_hostile_facts_are_left_out() -> None:
    tags = ["ok", "\ud800", "line\nbreak", "", None, 5, *(f"{n:0200}" for n in range(10_000))]
    found = metadata.of_try(context(HostileTask(), tags=tags), pod_of(image="i" * 201), "base")
    assert set(found) == {"tags", "params", "kubernetes_namespace", "node_selector"}
    assert [len(found[name]) for name in ("tags", "params")] == [metadata.MAX_VALUES] * 2
    assert metadata.of_try({}, None, "base") == {}
    assert metadata.of_try({"task": None, "dag": 3}, "not a pod", "base") == {}


def test_predictions_and_reports_have_the_same_metadata(server: ScriptedServer) -> None:
    server.answers = {"/predict": (200, prediction(10 * GIB)), "/observe": (200, RECORDED)}
    operator, kubernetes = make(image="registry/pricing:1", owner="pricing", node_selector={"pool": "highmem"})
    given = task_context(task=operator)
    pod = operator.build_pod_request_obj(given)
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), given)
    (request,), (reported,) = server.bodies_of("/predict"), server.bodies_of("/observe")
    assert request["metadata"] == reported["metadata"]
    assert request["metadata"]["operator"] == "KubernetesPodOperator"
    assert request["metadata"]["owner"] == "pricing"
    assert request["metadata"]["image"] == "registry/pricing"
    assert request["metadata"]["node_selector"] == ["pool=highmem"]
    assert set(request["metadata"]) > {"pool", "queue", "kubernetes_namespace"}


@pytest.mark.parametrize("place", ["setting", "connection", "text in the connection"])
def test_metadata_can_be_turned_off(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    server.answers = {"/predict": (200, prediction(10 * GIB)), "/observe": (200, RECORDED)}
    if place == "setting":
        monkeypatch.setenv("AIRFLOW__LOADAWARE__SEND_METADATA", "False")
    else:
        connect(monkeypatch, server.port, extra={"send_metadata": False if place == "connection" else "false"})
    operator, kubernetes = make()
    given = task_context(task=operator)
    pod = operator.build_pod_request_obj(given)
    assert memory(pod) == "10Gi"
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), given)
    assert len(server.requests) == 2
    assert not [body for _, body in server.requests if "metadata" in body]


def test_unreadable_metadata_does_not_prevent_a_launch(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    monkeypatch.setattr(metadata, "of_try", lambda *_: 1 / 0)
    operator, _ = make()
    assert memory(operator.build_pod_request_obj(task_context())) == "10Gi"
    assert "metadata" not in server.bodies_of("/predict")[0]
    assert any("reading the metadata failed" in line for line in log_lines())
