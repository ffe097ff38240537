"""Tests of the operator from launch to report, with a recording Kubernetes client."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import models as k8s
from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import callbacks, hooks, pod_callbacks, report
from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.links import ReceiptLink
from airflow_provider_loadaware.operators import SizedKubernetesPodOperator, SizerMixin

from .conftest import RECORDED, ScriptedServer, connect, lift, prediction, task_context

GIB = 1 << 30
LogLines = Callable[[], list[str]]
SIZING = pod_callbacks.SizingCallback
STATIC = k8s.V1ResourceRequirements(requests={"memory": "8Gi", "cpu": "2"}, limits={"memory": "8Gi"})


class Kubernetes:
    """Serves one pod, a log, and the pods that an earlier execution left behind."""

    def __init__(self) -> None:
        self.pod: Any = None
        self.leftovers: list[Any] = []
        self.log = ""
        self.rejections: list[int] = []
        self.created: list[Any] = []

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
    """End a try: Airflow fails it if its pod failed, whatever the provider does."""
    kubernetes.pod = pod
    failed = pod.status.phase != "Succeeded"
    with pytest.raises(Exception, match="returned a failure") if failed else contextlib.nullcontext():
        operator._try_context = context  # launch and resumption set it
        operator.cleanup(pod, pod)


# ---- launch ----


def test_a_pod_is_sized_and_the_grant_is_shown(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB, reason="10Gi: log-linear; 150 runs"))
    operator, _ = make(features={"n": 7}, max_memory="64Gi")
    context = task_context()
    pod = operator.build_pod_request_obj(context)
    assert memory(pod) == "10Gi"
    assert pods.base_container(pod, "base").resources.requests["cpu"] == "1500m"
    assert server.of("/predict") == [
        {
            "namespace": "default",
            "dag_id": "pricing",
            "task_id": "predict_demand",
            "run_id": "run-1",
            "map_index": 4,
            "try_number": 1,
            "features": {"n": 7},
            "requested": {"memory_bytes": 8 * GIB, "cpu_cores": 2.0},
            "max_memory_bytes": 64 * GIB,
        }
    ]
    assert operator.container_resources.limits["memory"] == "10Gi"
    assert STATIC.limits == {"memory": "8Gi"}
    url = f"{server.url}/predictions/p-1"
    assert operator.operator_extra_links[0].get_link(operator, ti_key=None) == url
    assert context["ti"].pushed == {"loadaware_receipt": url}
    (line,) = log_lines()
    assert line.startswith(f"static 8Gi → granted 10Gi: log-linear; 150 runs [{url}]")


def test_a_dry_run_sends_no_request(server: ScriptedServer) -> None:
    operator, _ = make()
    assert memory(operator.build_pod_request_obj(None)) == "8Gi"
    if "dry_run" in inspect.signature(KubernetesPodOperator.build_pod_request_obj).parameters:
        assert memory(operator.build_pod_request_obj(task_context(), dry_run=True)) == "8Gi"
    assert server.requests == []


@pytest.mark.parametrize("off", ["argument", "environment"])
def test_a_disabled_task_sends_no_request(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, off: str) -> None:
    if off == "environment":
        monkeypatch.setenv("LOADAWARE_DISABLED", "1")
    operator, kubernetes = make(sizing=off != "argument")
    pod = operator.build_pod_request_obj(task_context())
    assert memory(pod) == "8Gi"
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    assert server.requests == []


@pytest.mark.parametrize("answer", [(500, {}), (401, {}), (404, {}), (200, b"{}"), (200, prediction(1))], ids=str)
def test_the_static_request_stays_with_one_warning(server: ScriptedServer, log_lines: LogLines, answer: Any) -> None:
    server.answers["/predict"] = answer
    operator, _ = make()
    pod = operator.build_pod_request_obj(task_context())
    assert memory(pod) == "8Gi"
    (line,) = log_lines()
    assert "keeping static 8Gi" in line


def test_without_a_connection_the_static_request_stays(log_lines: LogLines) -> None:
    operator, _ = make()
    assert memory(operator.build_pod_request_obj(task_context())) == "8Gi"
    (line,) = log_lines()
    assert "keeping static 8Gi" in line


def test_shadow_changes_nothing_and_is_reported(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(GIB, mode="shadow"))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    assert memory(pod) == "8Gi"
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    assert server.of("/observe")[0]["prediction_id"] == "p-1"


def test_an_internal_error_changes_nothing(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    monkeypatch.setattr(pods, "apply", lambda *a: 1 / 0)
    operator, _ = make()
    assert memory(operator.build_pod_request_obj(task_context())) == "8Gi"


def test_an_internal_error_halfway_changes_nothing(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    monkeypatch.setattr(pods, "annotate", lambda *a: 1 / 0)
    operator, _ = make()
    assert memory(operator.build_pod_request_obj(task_context())) == "8Gi"


def test_a_callable_receives_only_the_context(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, _ = make(features=lambda context: {"run": context["run_id"]})
    # Rendering calls any callable in a field.
    assert not [name for name in operator.template_fields if callable(getattr(operator, name))]
    operator.build_pod_request_obj(task_context())
    assert server.of("/predict")[0]["features"] == {"run": "run-1"}


def test_failing_features_are_omitted(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, _ = make(features=lambda context: 1 / 0)
    assert memory(operator.build_pod_request_obj(task_context())) == "10Gi"
    assert server.of("/predict")[0]["features"] is None


@pytest.mark.parametrize("status", [403, 422])
def test_a_rejected_size_falls_back_to_the_static_request(server: ScriptedServer, status: int) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, kubernetes = make(arguments=["-Xmx$(LOADAWARE_MEMORY_MIB_50)m"])
    kubernetes.rejections = [status]
    context = task_context()
    pod = operator.build_pod_request_obj(context)
    operator.get_or_create_pod(pod_request_obj=pod, context=context)
    first, second = (body["spec"]["containers"][0] for body in kubernetes.created)
    assert first["resources"]["limits"]["memory"] == "10Gi"
    assert second["resources"]["limits"]["memory"] == "8Gi"
    assert {v["name"]: v["value"] for v in second["env"]}["LOADAWARE_MEMORY_MIB_50"] == "4096"


def test_other_api_errors_propagate(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, kubernetes = make()
    kubernetes.rejections = [400]
    pod = operator.build_pod_request_obj(task_context())
    with pytest.raises(ApiException):
        operator.get_or_create_pod(pod_request_obj=pod, context=task_context())
    assert len(kubernetes.created) == 1


# ---- measurement by the wrapper ----


def test_the_wrapper_measures_the_program(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    cmds = ["python", "-m", "pricing.fit"]
    operator, _ = make(cmds=cmds, arguments=["x"], measure="wrapper", measure_image="registry/peak:1")
    pod = operator.build_pod_request_obj(task_context())
    base = pods.base_container(pod, "base")
    assert base.command == ["/loadaware/loadaware-peak", "--", "python", "-m", "pricing.fit"]
    assert base.args == ["x"]
    assert memory(pod) == "10Gi"
    (install,) = pod.spec.init_containers
    assert (install.image, install.command) == ("registry/peak:1", ["loadaware-peak", "install", "/loadaware"])
    (volume,) = (v for v in pod.spec.volumes if v.name == "loadaware-peak")
    assert volume.empty_dir is not None
    mounts = [*install.volume_mounts, *base.volume_mounts]
    assert [m.mount_path for m in mounts if m.name == volume.name] == ["/loadaware"] * 2


def test_a_program_without_cmds_runs_unmeasured(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, _ = make(measure="wrapper")
    pod = operator.build_pod_request_obj(task_context())
    assert not pods.base_container(pod, "base").command
    assert not pod.spec.init_containers
    assert memory(pod) == "10Gi"
    assert "cmds is missing" in "".join(log_lines())


def test_a_rejected_wrapper_is_omitted(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, kubernetes = make(cmds=["python"], measure="wrapper")
    kubernetes.rejections = [403, 403]  # the sized pod and the static one, both with an init container
    context = task_context()
    operator.get_or_create_pod(pod_request_obj=operator.build_pod_request_obj(context), context=context)
    *_, last = kubernetes.created
    assert last["spec"]["containers"][0]["command"] == ["python"]
    assert not last["spec"]["init_containers"]


def test_an_unknown_measure_is_rejected() -> None:
    with pytest.raises(ValueError, match="wrapper"):
        make(measure="sidecar")


# ---- a pod of an earlier execution ----

# Older providers adopt an ended pod that they find and report its end like any other.
DELETES = pytest.mark.skipif(
    "process_pod_deletion" not in KubernetesPodOperator.get_or_create_pod.__code__.co_names,
    reason="this provider does not delete ended pods",
)
EACH_CLASS = pytest.mark.parametrize("kind", [SizedKubernetesPodOperator, KubernetesPodOperator])


def leave_ended_pod(kubernetes: Kubernetes, context: Any, *how: Any, **more: Any) -> None:
    """Leave the ended pod of a try whose worker crashed."""
    pod = end(make()[0].build_pod_request_obj(context), *how, **more)
    kubernetes.leftovers, kubernetes.pod = [pod], pod


def create(operator: Any, context: Any) -> Any:
    """Start a try, with the mixin or with the callback."""
    pod = operator.build_pod_request_obj(context)
    for callback in operator.callbacks:
        callback.on_pod_manifest_created(pod_request=pod, operator=operator, context=context)
    return operator.get_or_create_pod(pod_request_obj=pod, context=context)


@DELETES
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
    (report_body,) = server.of("/observe")
    assert (report_body["try_number"], report_body["outcome"]) == (launched_by, "oom_killed")
    assert report_body["allocated"]["memory_bytes"] == 10 * GIB
    (created,) = kubernetes.created
    assert created["spec"]["containers"][0]["resources"]["limits"]["memory"] == "19Gi"
    assert created["metadata"]["annotations"]["loadaware.io/source"] == "local-lift"
    assert operator.container_resources.limits["memory"] == "19Gi"


@DELETES
@EACH_CLASS
def test_the_end_of_the_new_pod_is_reported_too(server: ScriptedServer, kind: Any) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(kind, callbacks=[] if kind is not KubernetesPodOperator else [SIZING])
    leave_ended_pod(kubernetes, task_context(), 137, "OOMKilled")
    pod = create(operator, task_context())
    assert memory(pod) == "20Gi", "without a promise, twice the killed allocation"
    kubernetes.pod = end(pod, 0, "Completed", phase="Succeeded")
    SIZING.on_pod_completion(pod=pod, operator=operator, context=task_context())
    assert [o["outcome"] for o in server.of("/observe")] == ["oom_killed", "success"]


@DELETES
@pytest.mark.parametrize("how", [(0, "Completed", None, "Succeeded"), (1, "Error")], ids=["success", "failed"])
def test_another_unreported_end_is_reported_and_lifts_nothing(server: ScriptedServer, how: Any) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    leave_ended_pod(kubernetes, task_context(), *how)
    assert memory(create(operator, task_context(2))) == "10Gi"
    assert [(o["try_number"], o["outcome"]) for o in server.of("/observe")] == [
        (1, "success" if how[0] == 0 else "failed")
    ]


@DELETES
def test_a_kept_pod_is_reported_once(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(on_finish_action="keep_pod")
    leave_ended_pod(kubernetes, task_context(), 137, "OOMKilled")
    pod = create(operator, task_context(2))
    assert kubernetes.created == [], "Airflow adopts a kept pod"
    finish(operator, kubernetes, pod, task_context(2))
    assert [o["try_number"] for o in server.of("/observe")] == [1]


@DELETES
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


# ---- finish ----


def test_a_success_is_reported_with_the_actual_allocation(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    # A reattached pod has the resources of its creation.
    pods.base_container(pod, "base").resources = k8s.V1ResourceRequirements(limits={"memory": "7Gi", "cpu": "1"})
    series = '{"step_seconds": 0.8, "memory_mib": [1024, 5120], "cpu_cores": [0.5, 0.7]}'
    measured = f'{{"memory_max_bytes": 5368709120, "cpu_max_cores": 0.7, "series": {series}}}'
    end(pod, 0, "Completed", measured, "Succeeded")
    finish(operator, kubernetes, pod, task_context())
    (sent,) = server.of("/observe")
    assert sent["outcome"] == "success"
    assert sent["allocated"] == {"memory_bytes": 7 * GIB, "cpu_cores": 1.0}
    assert sent["requested"] == {"memory_bytes": 8 * GIB, "cpu_cores": 2.0}
    assert (sent["memory_max_bytes"], sent["cpu_max_cores"]) == (5 * GIB, 0.7)
    assert sent["usage_series"] == {"step_seconds": 0.8, "memory_bytes": [GIB, 5 * GIB], "cpu_cores": [0.5, 0.7]}
    assert sent["prediction_id"] == "p-1" and "features" not in sent
    assert operator.container_resources.limits["memory"] == "7Gi"


def test_a_kill_is_lifted_in_one_line(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    server.answers["/retry-lift"] = (200, lift(60 * GIB))
    operator, kubernetes = make(max_memory="100Gi")
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    (line,) = log_lines()[1:]
    assert line.startswith("OOMKilled at 10Gi (peak ≥ 10Gi); next try gets 60Gi")
    (request,) = server.of("/retry-lift")
    assert request["failed"] == {"memory_bytes": 10 * GIB}
    assert (request["reason"], request["max_memory_bytes"]) == ("oom_killed", 100 * GIB)


def test_a_program_that_ran_out_of_memory_is_lifted(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    server.answers["/retry-lift"] = (200, lift(60 * GIB))
    operator, kubernetes = make()
    kubernetes.log = "Traceback\nMemoryError: Unable to allocate 3.1 GiB"
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 1, "Error"), task_context())
    assert [o["outcome"] for o in server.of("/observe")] == ["app_oom"]
    assert any("the program ran out of memory at 10Gi" in line and "next try gets 60Gi" in line for line in log_lines())


@pytest.mark.parametrize(
    ("promised", "limit", "want"), [(lift(60 * GIB), None, "60Gi"), (None, None, "20Gi"), (None, "12Gi", "12Gi")]
)
def test_after_a_kill_the_next_try_gets_more_without_the_server(
    server: ScriptedServer, promised: Any, limit: Any, want: str
) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    if promised:
        server.answers["/retry-lift"] = (200, promised)
    operator, kubernetes = make(max_memory=limit)
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    server.answers["/predict"] = (503, {})
    again, _ = make(max_memory=limit)
    assert memory(again.build_pod_request_obj(task_context(try_number=2))) == want


@pytest.mark.parametrize(
    ("code", "reason", "pod_reason"), [(137, "Error", None), (1, "Error", None), (137, "OOMKilled", "Evicted")]
)
def test_other_ends_lift_nothing(server: ScriptedServer, code: int, reason: str, pod_reason: Any) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = end(operator.build_pod_request_obj(task_context()), code, reason)
    pod.status.reason = pod_reason
    finish(operator, kubernetes, pod, task_context())
    server.answers["/predict"] = (503, {})
    assert server.of("/retry-lift") == []
    again, _ = make()
    assert memory(again.build_pod_request_obj(task_context(try_number=2))) == "8Gi"


def test_a_failed_report_is_sent_once_later(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (503, {})
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    assert len(server.of("/observe")) == 1

    server.answers["/observe"] = (200, RECORDED)
    server.answers["/observe/batch"] = lambda body: (200, {"results": [RECORDED for _ in body["observations"]]})
    again, kubernetes = make()
    server.requests.clear()
    pod = again.build_pod_request_obj(task_context(try_number=2))
    assert [path for path, _ in server.requests] == ["/observe/batch", "/predict"], "reports precede predictions"
    (pending,) = server.of("/observe/batch")[0]["observations"]
    assert (pending["try_number"], pending["outcome"]) == (1, "oom_killed")
    finish(again, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context(try_number=2))
    assert len(server.of("/observe/batch")) == 1


def test_a_rejected_report_is_not_stored(server: ScriptedServer) -> None:
    server.answers["/observe"] = (409, {"detail": "contradiction"})
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    server.requests.clear()
    make()[0].build_pod_request_obj(task_context(try_number=2))
    assert server.of("/observe/batch") == []


def test_a_launch_timeout_is_reported_as_unschedulable(server: ScriptedServer) -> None:
    from airflow.providers.cncf.kubernetes.utils.pod_manager import PodLaunchTimeoutException

    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    pod.status = k8s.V1PodStatus(phase="Pending")
    kubernetes.pod = pod
    with pytest.raises(Exception, match="returned a failure"):
        try:
            raise PodLaunchTimeoutException("took too long")
        finally:
            operator.cleanup(pod, pod)
    assert [o["outcome"] for o in server.of("/observe")] == ["unschedulable"]


def test_a_deferred_pod_that_is_gone_is_reported_as_evicted(server: ScriptedServer) -> None:
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(deferrable=True)

    def gone(name: str, namespace: str) -> Any:
        raise ApiException(status=404)

    operator.__dict__["hook"].get_pod = gone
    event = {"status": "failed", "name": "n", "namespace": "ns", "message": "?"}
    with pytest.raises(Exception, match=r"not found|NoneType|404"):
        operator.trigger_reentry(task_context(), event)
    assert [o["outcome"] for o in server.of("/observe")] == ["evicted"]
    assert kubernetes.created == []


def test_a_deleted_pod_is_reported_with_its_last_allocation(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    pod.status = k8s.V1PodStatus(phase="Running")
    kubernetes.pod = None
    with pytest.raises(Exception, match=r"returned a failure|404"):
        operator.cleanup(pod, pod)
    (sent,) = server.of("/observe")
    assert (sent["outcome"], sent["allocated"]["memory_bytes"]) == ("evicted", 10 * GIB)
    assert sent["prediction_id"] == "p-1"


@pytest.mark.parametrize(
    ("error", "outcome"), [(MemoryError("x"), "failed"), (ValueError("x"), "failed"), (None, "success")]
)
def test_callbacks_report_a_task_without_a_pod(server: ScriptedServer, error: Any, outcome: str) -> None:
    server.answers["/observe"] = (200, RECORDED)
    context = task_context(exception=error)
    (callbacks.on_retry if error else callbacks.on_success)(context)
    # The server rejects an OOM without an allocation or a peak.
    assert [o["outcome"] for o in server.of("/observe")] == [outcome]


@pytest.mark.parametrize(
    ("error", "outcomes"), [("PodNotFoundException", ["evicted"]), ("AirflowException", [])], ids=["gone", "unknown"]
)
def test_callbacks_do_not_guess_the_outcome_of_an_unknown_pod(
    server: ScriptedServer, error: str, outcomes: list[str]
) -> None:
    server.answers["/observe"] = (200, RECORDED)
    operator, _ = make(KubernetesPodOperator)
    callbacks.on_retry(task_context(task=operator, exception=type(error, (Exception,), {})("?")))
    assert [o["outcome"] for o in server.of("/observe")] == outcomes


def test_the_xcom_sidecar_does_not_change(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(do_xcom_push=True)
    for what in ("image", "resources", "security_context"):
        setattr(operator.hook, f"get_xcom_sidecar_container_{what}", lambda: None)
    pod = operator.build_pod_request_obj(task_context())
    base, sidecar = pod.spec.containers
    assert (base.name, base.resources.limits["memory"]) == ("base", "10Gi")
    assert "10Gi" not in str(sidecar.resources) and not sidecar.env
    # The sidecar still runs when the base container has ended.
    kubernetes.pod = end(pod, 0, "Completed", phase="Running")
    with contextlib.suppress(Exception):  # the result differs between provider versions
        operator.cleanup(pod, pod)
    assert [o["outcome"] for o in server.of("/observe")] == ["success"]


def test_operator_and_callback_send_one_report(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = end(operator.build_pod_request_obj(task_context()), 0, "Completed", phase="Succeeded")
    finish(operator, kubernetes, pod, task_context())
    SIZING.on_pod_completion(pod=pod, operator=operator, context=task_context())
    assert len(server.of("/observe")) == 1


# ---- without the mixin ----


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
    assert [o["outcome"] for o in server.of("/observe")] == ["success"]


def test_subclasses_get_both_kinds_of_fields_and_links_and_default_args(server: ScriptedServer) -> None:
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
