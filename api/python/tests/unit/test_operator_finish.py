"""Tests of the reports of the operator and its callbacks."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import models as k8s
from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import callbacks, features, settings
from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.hooks import LoadawareHook
from airflow_provider_loadaware.resend import BATCH, send_pending
from airflow_provider_loadaware.service import Deadline, RejectedError, Service
from airflow_provider_loadaware.spool import Spool
from airflow_provider_loadaware.tries import Try

from .conftest import RECORDED, ScriptedServer, lift, prediction, task_context
from .recording_kubernetes import GIB, SIZING, LogLines, end, finish, make, memory


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
    (sent,) = server.bodies_of("/observe")
    assert sent["outcome"] == "success"
    assert sent["allocated"] == {"memory_bytes": 7 * GIB, "cpu_cores": 1.0}
    assert sent["requested"] == {"memory_bytes": 8 * GIB, "cpu_cores": 2.0}
    assert (sent["memory_max_bytes"], sent["cpu_max_cores"]) == (5 * GIB, 0.7)
    assert sent["usage_series"] == {"step_seconds": 0.8, "memory_bytes": [GIB, 5 * GIB], "cpu_cores": [0.5, 0.7]}
    assert sent["prediction_id"] == "p-1" and "features" not in sent
    assert operator.container_resources.limits["memory"] == "7Gi"


def test_a_peak_that_cannot_be_read_is_logged(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(peak_source=lambda pod, context: "7GB")
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    (line, *_) = log_lines()[1:]
    assert line.startswith("peak of the memory: '7GB' is not a quantity")
    (sent,) = server.bodies_of("/observe")
    assert "memory_max_bytes" not in sent


def test_a_kill_and_its_lift_are_one_log_line(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    server.answers["/retry-lift"] = (200, lift(60 * GIB))
    operator, kubernetes = make(max_memory="100Gi")
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    (line,) = log_lines()[1:]
    assert line.startswith("OOMKilled at 10Gi (peak ≥ 10Gi); next try gets 60Gi")
    (request,) = server.bodies_of("/retry-lift")
    assert request["failed"] == {"memory_bytes": 10 * GIB}
    assert (request["reason"], request["max_memory_bytes"]) == ("oom_killed", 100 * GIB)


@pytest.mark.parametrize("place", ["argument", "setting"])
def test_without_a_readable_bound_a_kill_is_lifted(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines, place: str
) -> None:
    if place == "setting":
        monkeypatch.setenv("AIRFLOW__LOADAWARE__MAX_MEMORY", "384 GB")
    bounds = {"max_memory": "384 GB"} if place == "argument" else {}
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    server.answers["/retry-lift"] = (200, lift(60 * GIB))
    operator, kubernetes = make(**bounds)
    pod = operator.build_pod_request_obj(task_context())
    assert memory(pod) == "10Gi"
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    again, _ = make(**bounds)
    assert memory(again.build_pod_request_obj(task_context(try_number=2))) == "60Gi"
    assert not any("max_memory_bytes" in body for _, body in server.requests)
    name = "max_memory" if place == "argument" else "max_memory in the section [loadaware]"
    first, *others = log_lines()
    assert first.startswith(f"{name}: '384 GB' is not a quantity; write a number and a unit, such as 350Gi; continuing")
    assert sum("is not a quantity" in line for line in others) == 1, "the second try must log one warning"


def test_an_unreadable_argument_leaves_the_setting_in_force(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__LOADAWARE__MAX_MEMORY", "12Gi")
    server.answers["/predict"] = (200, prediction(64 * GIB))
    operator, _ = make(max_memory="384 GB", min_memory="1 GB")
    assert memory(operator.build_pod_request_obj(task_context())) == "12Gi"


def test_a_kill_is_stored_if_the_request_of_the_lift_raises(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no")

    monkeypatch.setattr(Service, "lift", fail)
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    again, _ = make()
    assert memory(again.build_pod_request_obj(task_context(try_number=2))) == "20Gi"


def test_a_program_that_ran_out_of_memory_is_lifted(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    server.answers["/retry-lift"] = (200, lift(60 * GIB))
    operator, kubernetes = make()
    kubernetes.log = "Traceback\nMemoryError: Unable to allocate 3.1 GiB"
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 1, "Error"), task_context())
    assert [o["outcome"] for o in server.bodies_of("/observe")] == ["app_oom"]
    assert any("the program ran out of memory at 10Gi" in line and "next try gets 60Gi" in line for line in log_lines())


@pytest.mark.parametrize(
    ("announced", "limit", "want"), [(lift(60 * GIB), None, "60Gi"), (None, None, "20Gi"), (None, "12Gi", "12Gi")]
)
def test_after_a_kill_the_next_try_gets_more_without_the_server(
    server: ScriptedServer, announced: Any, limit: Any, want: str
) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    if announced:
        server.answers["/retry-lift"] = (200, announced)
    operator, kubernetes = make(max_memory=limit)
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    server.answers["/predict"] = (503, {})
    again, _ = make(max_memory=limit)
    assert memory(again.build_pod_request_obj(task_context(try_number=2))) == want


@pytest.mark.parametrize(
    ("code", "reason", "pod_reason"), [(137, "Error", None), (1, "Error", None), (137, "OOMKilled", "Evicted")]
)
def test_other_ends_are_not_lifted(server: ScriptedServer, code: int, reason: str, pod_reason: Any) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = end(operator.build_pod_request_obj(task_context()), code, reason)
    pod.status.reason = pod_reason
    finish(operator, kubernetes, pod, task_context())
    server.answers["/predict"] = (503, {})
    assert server.bodies_of("/retry-lift") == []
    again, _ = make()
    assert memory(again.build_pod_request_obj(task_context(try_number=2))) == "8Gi"


def test_a_failed_report_is_sent_once_later(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (503, {})
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())
    assert len(server.bodies_of("/observe")) == 1

    server.answers["/observe"] = (200, RECORDED)
    server.answers["/observe/batch"] = lambda body: (200, {"results": [RECORDED for _ in body["observations"]]})
    again, kubernetes = make()
    server.requests.clear()
    pod = again.build_pod_request_obj(task_context(try_number=2))
    assert [path for path, _ in server.requests] == ["/observe/batch", "/predict"], "the report was not sent first"
    (pending,) = server.bodies_of("/observe/batch")[0]["observations"]
    assert (pending["try_number"], pending["outcome"]) == (1, "oom_killed")
    finish(again, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context(try_number=2))
    assert len(server.bodies_of("/observe/batch")) == 1


def test_tries_after_unreported_kills_never_get_a_killed_amount_again(server: ScriptedServer) -> None:
    """The server repeats its lift to 10Gi, because no report of a kill reaches it."""
    server.answers["/predict"] = (200, prediction(10 * GIB, source="lift"))
    server.answers["/observe"] = server.answers["/observe/batch"] = (503, {})
    granted = []
    for number in range(1, 7):
        operator, kubernetes = make()
        pod = operator.build_pod_request_obj(task_context(try_number=number))
        granted.append(memory(pod))
        finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context(try_number=number))
    assert granted == ["10Gi", "20Gi", "40Gi", "80Gi", "160Gi", "320Gi"]
    assert len(server.bodies_of("/observe")) < 6, "the circuit breaker did not open"


def test_after_the_delivery_of_a_report_the_lift_of_the_server_applies(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (503, {})
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 137, "OOMKilled"), task_context())

    server.answers["/observe/batch"] = lambda body: (200, {"results": [RECORDED for _ in body["observations"]]})
    server.answers["/predict"] = (200, prediction(11 * GIB, source="lift"))
    again, _ = make()
    assert memory(again.build_pod_request_obj(task_context(try_number=2))) == "11Gi"
    server.answers["/predict"] = (200, prediction(10 * GIB, source="lift"))
    again, _ = make()
    granted = memory(again.build_pod_request_obj(task_context(try_number=2)))
    assert granted == "10Gi", "the lift of a server that knows the kill was replaced"


def test_a_report_that_cannot_be_sent_is_not_stored(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:
    monkeypatch.setattr(features, "clean", lambda text: text)
    server.answers["/predict"] = (503, {})  # so that the report contains the features
    operator, kubernetes = make(features={"file": "a\udce9"})
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    assert server.requests == [] and Spool(settings.state_folder()).pending(10) == {}
    assert any("sending the report failed (UnicodeEncodeError" in line and "is dropped" in line for line in log_lines())


def test_a_rejected_report_is_not_stored(server: ScriptedServer) -> None:
    server.answers["/observe"] = (409, {"detail": "contradiction"})
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    server.requests.clear()
    make()[0].build_pod_request_obj(task_context(try_number=2))
    assert server.bodies_of("/observe/batch") == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dag_id": ...}, "KeyError: 'dag_id'"),
        ({"outcome": ...}, "KeyError: 'outcome'"),
        ({"outcome": "unheard of"}, "ValueError"),
        ({"duration_seconds": float("nan")}, "ValueError"),
        ({"features": {"file": "a\udce9"}}, "UnicodeEncodeError"),
    ],
    ids=["no key", "no outcome", "unknown outcome", "not a number", "a lone surrogate"],
)
def test_an_invalid_pending_report_does_not_block_the_others(
    server: ScriptedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, Any], reason: str
) -> None:
    def pend(task_id: str, more: dict[str, Any]) -> str:
        key = Try("default", "pricing", task_id, "run-1")
        report = {**key.body(), "outcome": "success", **more}
        assert spool.add(key, {name: value for name, value in report.items() if value is not ...})
        return key.key

    spool = Spool(tmp_path)
    invalid = pend("a", changes)
    pend("b", {})
    server.answers["/observe/batch"] = lambda body: (200, {"results": [RECORDED for _ in body["observations"]]})
    send_pending(LoadawareHook().get_conn(), spool, Deadline())
    assert [[o["task_id"] for o in batch["observations"]] for batch in server.bodies_of("/observe/batch")] == [["b"]]
    assert spool.pending(10) == {}
    (line,) = [r.getMessage() for r in caplog.records if r.name.endswith(".resend")]
    assert invalid in line and "task_id 'a'" in line and reason in line


@pytest.mark.parametrize("whole_batch", [True, False])
def test_dropping_a_rejected_pending_report_is_logged(
    server: ScriptedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, whole_batch: bool
) -> None:
    spool, key = Spool(tmp_path), Try("default", "pricing", "a", "run-1")
    spool.add(key, {**key.body(), "outcome": "success"})
    problem = {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "contradiction"}
    rejected = {"recorded": False, "duplicate": False, "amended": False, "error": problem}
    server.answers["/observe/batch"] = (409, problem) if whole_batch else (200, {"results": [rejected]})
    send_pending(LoadawareHook().get_conn(), spool, Deadline())
    assert spool.pending(10) == {}
    assert "run_id 'run-1'" in caplog.text and "409: contradiction" in caplog.text


@pytest.mark.parametrize("whole_batch", [True, False])
@pytest.mark.parametrize("status", [401, 403, 408, 425, 429])
def test_a_pending_report_that_may_succeed_later_is_kept(
    server: ScriptedServer, tmp_path: Path, status: int, whole_batch: bool
) -> None:
    spool, key = Spool(tmp_path), Try("default", "pricing", "a", "run-1")
    spool.add(key, {**key.body(), "outcome": "success"})
    problem = {"type": "about:blank", "title": "Later", "status": status, "detail": "later"}
    rejected = {"recorded": False, "duplicate": False, "amended": False, "error": problem}
    server.answers["/observe/batch"] = (status, problem) if whole_batch else (200, {"results": [rejected]})
    with contextlib.suppress(RejectedError):  # of a whole batch
        send_pending(LoadawareHook().get_conn(), spool, Deadline())
    assert key.key in spool.pending(10)


@pytest.mark.parametrize("status", [403, 500])
def test_pending_reports_that_stay_pending_do_not_hide_younger_ones(
    server: ScriptedServer, tmp_path: Path, status: int
) -> None:
    spool, problem = Spool(tmp_path), {"type": "about:blank", "title": "Later", "status": status, "detail": "later"}

    def answer(body: Any) -> tuple[int, Any]:
        rejected = {"recorded": False, "duplicate": False, "amended": False, "error": problem}
        return 200, {"results": [RECORDED if o["dag_id"] == "pricing" else rejected for o in body["observations"]]}

    server.answers["/observe/batch"] = answer
    rejected = [Try("default", "foreign", "a", f"run-{n}") for n in range(BATCH)]
    for key in [*rejected, Try("default", "pricing", "a", "run-1")]:
        spool.add(key, {**key.body(), "outcome": "success"})
    for _ in range(2):
        send_pending(LoadawareHook().get_conn(), spool, Deadline())
    assert set(spool.pending(2 * BATCH)) == {key.key for key in rejected}


@pytest.mark.parametrize(
    ("scheduled", "gone", "outcome"),
    [
        (None, False, "unschedulable"),
        ("False", False, "unschedulable"),
        ("True", False, "failed"),
        ("False", True, "unschedulable"),
        ("True", True, "evicted"),
    ],
)
def test_a_launch_timeout_is_unschedulable_only_without_a_node(
    server: ScriptedServer, scheduled: str | None, gone: bool, outcome: str
) -> None:
    from airflow.providers.cncf.kubernetes.utils.pod_manager import PodLaunchTimeoutException

    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    conditions = [k8s.V1PodCondition(type="PodScheduled", status=scheduled)] if scheduled else None
    pod.status = k8s.V1PodStatus(phase="Pending", conditions=conditions)
    kubernetes.pod = None if gone else pod
    with pytest.raises(Exception, match=r"returned a failure|404"):
        try:
            raise PodLaunchTimeoutException("took too long")
        finally:
            operator.cleanup(pod, pod)
    assert [o["outcome"] for o in server.bodies_of("/observe")] == [outcome]


def test_a_deferred_pod_that_is_gone_is_reported_as_evicted(server: ScriptedServer) -> None:
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make(deferrable=True)

    def gone(name: str, namespace: str) -> Any:
        raise ApiException(status=404)

    operator.__dict__["hook"].get_pod = gone
    event = {"status": "failed", "name": "n", "namespace": "ns", "message": "?"}
    with pytest.raises(Exception, match=r"not found|NoneType|404"):
        operator.trigger_reentry(task_context(), event)
    assert [o["outcome"] for o in server.bodies_of("/observe")] == ["evicted"]
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
    (sent,) = server.bodies_of("/observe")
    assert (sent["outcome"], sent["allocated"]["memory_bytes"]) == ("evicted", 10 * GIB)
    assert sent["prediction_id"] == "p-1"


def test_a_pod_that_was_deleted_before_airflow_read_it_is_reported_as_evicted(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    operator.pod = operator.build_pod_request_obj(task_context())
    kubernetes.pod = None
    operator.cleanup(operator.pod, None)
    (sent,) = server.bodies_of("/observe")
    assert (sent["outcome"], sent["allocated"]["memory_bytes"]) == ("evicted", 10 * GIB)


def test_a_try_without_a_pod_is_reported_as_failed(server: ScriptedServer) -> None:
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    kubernetes.pod = None
    operator.cleanup(operator.build_pod_request_obj(task_context()), None)
    assert [o["outcome"] for o in server.bodies_of("/observe")] == ["failed"]


@pytest.mark.parametrize(
    ("error", "outcome"), [(MemoryError("x"), "failed"), (ValueError("x"), "failed"), (None, "success")]
)
def test_callbacks_report_a_task_without_a_pod(server: ScriptedServer, error: Any, outcome: str) -> None:
    server.answers["/observe"] = (200, RECORDED)
    context = task_context(exception=error)
    (callbacks.on_retry if error else callbacks.on_success)(context)
    # The server rejects an OOM without an allocation or a peak.
    assert [o["outcome"] for o in server.bodies_of("/observe")] == [outcome]


@pytest.mark.parametrize(
    ("error", "outcomes"), [("PodNotFoundException", ["evicted"]), ("AirflowException", [])], ids=["gone", "unknown"]
)
def test_callbacks_do_not_guess_the_outcome_of_an_unknown_pod(
    server: ScriptedServer, error: str, outcomes: list[str]
) -> None:
    server.answers["/observe"] = (200, RECORDED)
    operator, _ = make(KubernetesPodOperator)
    callbacks.on_retry(task_context(task=operator, exception=type(error, (Exception,), {})("?")))
    assert [o["outcome"] for o in server.bodies_of("/observe")] == outcomes


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
    assert [o["outcome"] for o in server.bodies_of("/observe")] == ["success"]


def test_operator_and_callback_send_one_report(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = end(operator.build_pod_request_obj(task_context()), 0, "Completed", phase="Succeeded")
    finish(operator, kubernetes, pod, task_context())
    SIZING.on_pod_completion(pod=pod, operator=operator, context=task_context())
    assert len(server.bodies_of("/observe")) == 1
