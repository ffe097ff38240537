"""Tests of the callbacks without the mixin, and of subclasses and mapped operators."""

from __future__ import annotations

import pytest
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator

from airflow_provider_loadaware import hooks, report
from airflow_provider_loadaware.links import ReceiptLink
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator, SizerMixin

from .conftest import RECORDED, ScriptedServer, connect, prediction, task_context
from .recording_kubernetes import GIB, SIZING, end, make, memory


def test_callbacks_size_and_report_a_plain_operator(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(KubernetesPodOperator, callbacks=[SIZING])
    context = task_context()
    pod = operator.build_pod_request_obj(context)
    arguments = {"client": kubernetes, "mode": "sync", "operator": operator, "context": context}
    SIZING.on_pod_manifest_created(pod_request=pod, **arguments)
    assert memory(pod) == "10Gi"
    kubernetes.rejections = [403]
    operator.get_or_create_pod(pod_request_obj=pod, context=context)
    assert memory(pod) == "8Gi"
    kubernetes.pod = end(pod, 0, "Completed", phase="Succeeded")
    SIZING.on_pod_completion(pod=pod, **arguments)
    assert [o["outcome"] for o in server.bodies_of("/observe")] == ["success"]


def test_subclasses_have_the_fields_and_links_of_the_mixin_and_the_operator(server: ScriptedServer) -> None:
    class CustomLink(ReceiptLink):
        name = "own"

    class CustomOperator(KubernetesPodOperator):
        template_fields = ("image", "mine")
        operator_extra_links = (CustomLink(),)
        mine = "x"

    class SizedCustomOperator(SizerMixin, CustomOperator):
        pass

    class Child(SizedCustomOperator):
        template_fields = (*SizedCustomOperator.template_fields, "more")
        more = "y"

    class Grandchild(Child):
        pass

    assert SizedCustomOperator.template_fields == ("features", "image", "mine")
    assert Grandchild.template_fields == ("features", "image", "mine", "more")
    assert [link.name for link in Grandchild.operator_extra_links] == ["loadaware receipt", "own"]
    operator = SizedCustomOperator(
        task_id="t", image="i", name="n", default_args={"max_memory": "4Gi", "features": {"a": 1}}
    )
    assert (operator.max_memory, operator.features) == ("4Gi", {"a": 1})


def test_features_can_be_mapped() -> None:
    mapped = SizedKubernetesPodOperator.partial(task_id="t", image="i", name="n").expand(features=[{"n": 1}, {"n": 2}])
    assert mapped.task_id == "t"


def test_tests_are_isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hooks._services and not report._reported
    connect(monkeypatch, 1)
