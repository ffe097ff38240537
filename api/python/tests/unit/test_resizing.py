"""Tests of resizing with the real Kubernetes clients and a fake cluster: launches, operators and triggers."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.cncf.kubernetes.triggers.pod import KubernetesPodTrigger
from fake_kubernetes import SCRIPT_VARIABLE, Cluster, NodeCapacity, Pod, Script, serve, write_kubeconfig
from fake_kubernetes.quantity import memory_bytes
from kubernetes import client, config
from kubernetes.client import models as k8s

from airflow_provider_loadaware import plan as plans
from airflow_provider_loadaware import resize_support, resizer, triggers
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator
from airflow_provider_loadaware.triggers import ResizingPodTrigger

from .conftest import RECORDED, ScriptedServer, prediction, task_context
from .fake_cluster import phase_answer
from .recording_kubernetes import LogLines
from .test_plan import plan_answer

MIB, GIB = 1 << 20, 1 << 30
START, GROWN, STATIC = 256 * MIB, 512 * MIB, GIB
PLAN = plan_answer(
    start={"memory_bytes": START, "cpu_millicores": None},
    static_bytes=STATIC,
    steps=[],
    poll_seconds=1,
    reaction_seconds=1,
)


class Fake:
    """A fake cluster with its kubeconfig and its client."""

    def __init__(self, path: Path, url: str, cluster: Cluster) -> None:
        self.cluster = cluster
        self.kubeconfig = write_kubeconfig(path / "kubeconfig.json", url)
        self.core = client.CoreV1Api(config.new_client_from_config(str(self.kubeconfig)))

    @property
    def pod(self) -> Pod:
        (pod,) = self.cluster.history
        return pod

    def operator(self, kind: Any = SizedKubernetesPodOperator, script: Script | None = None, **more: Any) -> Any:
        script = script or Script(need=MIB, seconds=0, grows_to=GROWN)
        resources = k8s.V1ResourceRequirements(requests={"memory": "8Gi"}, limits={"memory": "8Gi"})
        arguments = {"container_resources": resources, "env_vars": {SCRIPT_VARIABLE: script.to_json()}, **more}
        operator = kind(task_id="predict_demand", name="n", namespace="ns", image="i", **arguments)
        operator.convert_config_file_to_dict = lambda: setattr(
            operator, "_config_dict", json.loads(self.kubeconfig.read_text())
        )
        operator.kubernetes_conn_id = None
        operator.__dict__["hook"] = SimpleNamespace(
            is_in_cluster=False, core_v1_client=self.core, get_pod=self.core.read_namespaced_pod
        )
        return operator

    def create(self, operator: Any) -> Any:
        """Create the pod of an operator as Airflow does. Returns the task context."""
        context = task_context(task=operator)
        context["ti"].start_date = datetime.datetime.now(datetime.timezone.utc)
        request = operator.build_pod_request_obj(context)
        operator.pod = operator.get_or_create_pod(request, context)
        return context

    def wait(self, phase: str = "Succeeded") -> None:
        until = time.monotonic() + 120
        while self.cluster.render(self.pod)["status"]["phase"] != phase:
            assert time.monotonic() < until, self.cluster.render(self.pod)
            time.sleep(0.05)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    cluster = Cluster()
    monkeypatch.setattr(resize_support, "PROBE_SECONDS", 60.0)
    with serve(cluster) as url:
        yield Fake(tmp_path, url, cluster)


@pytest.fixture
def synchronous_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__LOADAWARE__SYNCHRONOUS_LIMITS", "True")


@pytest.fixture
def planned(server: ScriptedServer) -> ScriptedServer:
    server.answers["/predict"] = (200, prediction(STATIC, plan=PLAN))
    server.answers["/observe"] = (200, RECORDED)
    server.answers["/phase"] = lambda body: (200, full_answer(body, max(GROWN, body["limit_bytes"])))
    return server


def full_answer(body: dict[str, Any], memory: int) -> dict[str, Any]:
    more = {"phase_seconds": None, "remaining": None, "static_bytes": STATIC}
    return phase_answer(memory, body["elapsed_seconds"] + 5, 1, **more)


def limits(pod: Pod) -> tuple[int | None, int | None]:
    return pod.limit_in_force(0.0), pod.memory_limit


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": (1, 32)}, "Kubernetes 1.32 cannot resize pods in place"),
        ({"has_metrics": False}, "install metrics-server"),
        ({"forbidden": {"patch pods/resize"}}, "the service account may not patch pods/resize"),
        ({"forbidden": {"get pods"}}, "the service account may not get pods.metrics.k8s.io"),
    ],
)
def test_a_pod_in_a_cluster_that_cannot_resize_gets_the_static_grant(
    fake: Fake, planned: ScriptedServer, log_lines: LogLines, change: dict[str, Any], text: str
) -> None:
    for name, value in change.items():
        setattr(fake.cluster, name, value)
    fake.create(fake.operator())
    assert limits(fake.pod) == (STATIC, STATIC)
    assert plans.ANNOTATION not in fake.pod.annotations
    assert any(line.startswith("plan: keeping the static grant") and text in line for line in log_lines())


def test_a_pod_in_a_cluster_that_answers_late_gets_the_static_grant(
    fake: Fake, planned: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resize_support, "PROBE_SECONDS", 0.0)
    fake.create(fake.operator())
    assert limits(fake.pod) == (STATIC, STATIC)


class CustomOperator(SizedKubernetesPodOperator):  # type: ignore[misc]
    """An operator with a trigger of its own."""

    def invoke_defer_method(self, *args: Any, **kwargs: Any) -> None: ...


@pytest.mark.parametrize(
    ("kind", "arguments", "text"),
    [
        (CustomOperator, {"deferrable": True}, "has a trigger of its own"),
        (
            SizedKubernetesPodOperator,
            {
                "container_resources": k8s.V1ResourceRequirements(
                    requests={"memory": "8Gi", "cpu": "1"}, limits={"memory": "8Gi", "cpu": "1"}
                )
            },
            "the QoS class of the pod is Guaranteed",
        ),
    ],
)
def test_a_pod_that_cannot_grow_gets_the_static_grant(
    fake: Fake, planned: ScriptedServer, log_lines: LogLines, kind: Any, arguments: dict[str, Any], text: str
) -> None:
    fake.create(fake.operator(kind, size_cpu=False, **arguments))
    assert limits(fake.pod) == (STATIC, STATIC)
    assert any(text in line for line in log_lines())


def test_a_pod_that_would_restart_gets_the_static_grant(fake: Fake, planned: ScriptedServer) -> None:
    if not hasattr(k8s, "V1ContainerResizePolicy"):
        pytest.skip("this client has no resizePolicy")
    rule = k8s.V1ContainerResizePolicy(resource_name="memory", restart_policy="RestartContainer")
    base = k8s.V1Container(name="base", resize_policy=[rule])
    spec = k8s.V1Pod(metadata=k8s.V1ObjectMeta(), spec=k8s.V1PodSpec(containers=[base]))
    fake.create(fake.operator(full_pod_spec=spec))
    assert limits(fake.pod) == (STATIC, STATIC)


def test_a_deferrable_task_without_sizer_mixin_cannot_follow_a_plan(fake: Fake) -> None:
    operator = fake.operator(KubernetesPodOperator, deferrable=True)
    request = operator.build_pod_request_obj(task_context(task=operator))
    plan = plans.Plan.from_dict({**resize_plan().to_dict()})
    assert resize_support.problem(operator, request, plan) == "a deferrable task needs SizerMixin"


def resize_plan() -> plans.Plan:
    return plans.Plan(1, "memory", START, STATIC, 1.0, 1, 1)


@pytest.mark.usefixtures("synchronous_limits")
def test_a_synchronous_task_resizes_its_pod_and_reports_it(fake: Fake, planned: ScriptedServer) -> None:
    operator = fake.operator()
    context = fake.create(operator)
    fake.wait()
    assert limits(fake.pod) == (START, GROWN)
    with contextlib.suppress(Exception):  # the result differs between provider versions
        operator.cleanup(operator.pod, operator.pod)
    (report,) = planned.bodies_of("/observe")
    assert report["executed_plan"]["followed"] is True
    assert report["allocated"]["memory_bytes"] == GROWN
    assert planned.bodies_of("/phase")[0]["run_id"] == context["run_id"]


def test_a_synchronous_task_keeps_its_static_limit(fake: Fake, planned: ScriptedServer) -> None:
    operator = fake.operator(script=Script(need=MIB, seconds=5))
    fake.create(operator)
    requests = [fake.pod.base["resources"]["requests"]["memory"]]
    fake.wait()
    requests.append(fake.pod.resizing.in_force(1e9)[0]["requests"]["memory"])
    assert [memory_bytes(amount) for amount in requests] == [START, GROWN]
    assert limits(fake.pod) == (STATIC, STATIC)
    with contextlib.suppress(Exception):
        operator.cleanup(operator.pod, operator.pod)
    (report,) = planned.bodies_of("/observe")
    assert report["executed_plan"]["followed"] is False
    assert report["executed_plan"]["start_bytes"] == report["allocated"]["memory_bytes"] == STATIC


def test_a_pod_that_replaces_a_rejected_one_has_no_plan(fake: Fake, planned: ScriptedServer) -> None:
    operator = fake.operator(script=Script(need=MIB, seconds=0, admission=8 * GIB))
    fake.create(operator)
    assert limits(fake.pod) == (8 * GIB, 8 * GIB)
    assert plans.of_pod(operator.pod) is None
    assert not hasattr(operator, "loadaware_resizer")


@pytest.mark.usefixtures("synchronous_limits")
def test_another_worker_continues_the_plan_of_a_running_pod(fake: Fake, planned: ScriptedServer) -> None:
    first = fake.operator(script=Script(need=MIB, seconds=0, grows_to=GROWN))
    planned.answers["/phase"] = lambda body: (200, full_answer(body, body["limit_bytes"]))
    fake.create(first)
    first.loadaware_resizer.stop()  # as if the worker died
    planned.answers["/phase"] = lambda body: (200, full_answer(body, GROWN))
    second = fake.operator()
    second.find_pod = lambda *args, **kwargs: first.pod
    fake.create(second)
    fake.wait()
    assert limits(fake.pod) == (START, GROWN)


def trigger_of(fake: Fake, operator: Any) -> ResizingPodTrigger:
    """Return the trigger with which an operator defers, as Airflow restores it from its database."""
    with pytest.raises(BaseException) as deferred:
        operator.invoke_defer_method()
    path, kwargs = deferred.value.trigger.serialize()
    kind = getattr(triggers, path.rpartition(".")[2], KubernetesPodTrigger)
    restored = kind(**json.loads(json.dumps(kwargs, default=str)))
    restored.trigger_start_time = datetime.datetime.now(datetime.timezone.utc)
    assert isinstance(restored, KubernetesPodTrigger)
    return restored


async def event_of(trigger: Any) -> dict[str, Any]:
    async for event in trigger.run():
        return dict(event.payload)
    raise AssertionError("no event")


def deferrable(fake: Fake, script: Script) -> Any:
    return fake.operator(script=script, deferrable=True, poll_interval=0.2, startup_check_interval_seconds=1)


def test_a_restarted_triggerer_continues_the_plan(fake: Fake, planned: ScriptedServer) -> None:
    operator = deferrable(fake, Script(need=MIB, seconds=0, grows_to=STATIC))
    fake.create(operator)
    trigger = trigger_of(fake, operator)

    async def restart() -> dict[str, Any]:
        first = asyncio.ensure_future(event_of(trigger))
        until = time.monotonic() + 120
        while fake.pod.memory_limit != GROWN:
            assert time.monotonic() < until
            await asyncio.sleep(0.05)
        first.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await first
        planned.answers["/phase"] = lambda body: (200, full_answer(body, STATIC))
        _, kwargs = trigger.serialize()
        return await event_of(ResizingPodTrigger(**kwargs))

    trigger.safe_to_cancel = is_not_safe  # type: ignore[method-assign]
    event = asyncio.run(restart())
    assert event["status"] == "success"
    assert limits(fake.pod) == (START, STATIC)
    assert event[triggers.EXECUTION]["followed"] is False, "the first part was executed by another process"


async def is_not_safe() -> bool:
    """Replace safe_to_cancel: Airflow must not delete the pod, because a restart does not end the task."""
    return False


def test_a_trigger_that_may_not_resize_lets_the_worker_set_the_static_grant(
    fake: Fake, planned: ScriptedServer, log_lines: LogLines
) -> None:
    script = Script(need=MIB, seconds=0, grows_to=STATIC, resize_refusals=2)
    operator = deferrable(fake, script)
    context = fake.create(operator)
    event = asyncio.run(event_of(trigger_of(fake, operator)))
    assert event["status"] == triggers.NEEDS_WORKER
    assert fake.pod.memory_limit == START
    again = deferrable(fake, script)
    with pytest.raises(BaseException) as deferred:
        again.trigger_reentry(context, event)
    assert type(deferred.value.trigger) is KubernetesPodTrigger
    assert limits(fake.pod) == (START, STATIC)
    last = asyncio.run(event_of(deferred.value.trigger))
    assert last["status"] == "success"
    assert "403" in last[triggers.EXECUTION]["fallback"]


def test_a_trigger_whose_server_fails_sets_the_static_grant(fake: Fake, planned: ScriptedServer) -> None:
    planned.answers["/phase"] = (500, {"detail": "no"})
    script = Script(need=MIB, seconds=0, grows_to=STATIC, capacity=NodeCapacity.LATER)
    operator = deferrable(fake, script)
    fake.create(operator)
    event = asyncio.run(event_of(trigger_of(fake, operator)))
    assert event["status"] == "success"
    assert limits(fake.pod) == (START, STATIC)
    assert "POST /phase failed" in event[triggers.EXECUTION]["fallback"]


def test_an_error_while_deferring_sets_the_static_grant(
    fake: Fake, planned: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = deferrable(fake, Script(need=MIB, seconds=0, grows_to=STATIC))
    fake.create(operator)
    fake.wait("Running")
    monkeypatch.setattr(ResizingPodTrigger, "of", lambda *args: 1 / 0)
    trigger_of(fake, operator)
    assert limits(fake.pod) == (START, STATIC)


def test_a_worker_sleeps_at_most_return_seconds_while_it_sets_the_static_grant() -> None:
    pod = k8s.V1Pod(metadata=k8s.V1ObjectMeta(name="n", namespace="ns"))
    plan = plans.Plan(1, "memory", START, STATIC, 1.0, 600, 1)  # 600 s between polls
    resizing = resizer.Resizer(lambda: 1 / 0, pod, "base", plan, {}, None, logging.getLogger())
    slept: list[float] = []

    def wait(seconds: float) -> None:
        slept.append(seconds)
        resizing.stop()

    resizing._stopped.wait = wait  # type: ignore[assignment,method-assign]
    resizing.return_to_static("the trigger failed")
    (seconds,) = slept
    assert seconds <= resizer.RETURN_SECONDS


def test_an_unknown_execution_is_reported_as_not_followed(fake: Fake, planned: ScriptedServer) -> None:
    operator = fake.operator(script=Script(need=MIB, seconds=0))
    fake.create(operator)
    resizer.stop(operator)
    del operator.loadaware_resizer
    fake.wait()
    with contextlib.suppress(Exception):
        operator.cleanup(operator.pod, operator.pod)
    (report,) = planned.bodies_of("/observe")
    assert report["executed_plan"]["followed"] is False


@pytest.mark.usefixtures("synchronous_limits")
def test_a_kill_is_reported_with_the_limit_in_force(fake: Fake, planned: ScriptedServer) -> None:
    planned.answers["/retry-lift"] = (404, {"detail": "no"})
    memory = ((0.0, MIB), (0.5, 300 * MIB))  # more than the limit at the start, before a resize is in force
    script = Script(seconds=60, memory=memory, resize_seconds=3600)
    operator = fake.operator(script=script)
    planned.answers["/phase"] = lambda body: (200, full_answer(body, GROWN))
    context = fake.create(operator)
    fake.wait("Failed")
    assert fake.pod.limit_in_force(60.0) == START
    with contextlib.suppress(Exception):
        operator._try_context = context
        operator.cleanup(operator.pod, operator.pod)
    (report,) = planned.bodies_of("/observe")
    assert report["outcome"] == "oom_killed"
    assert report["allocated"]["memory_bytes"] == START
