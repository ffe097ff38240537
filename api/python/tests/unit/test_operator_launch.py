"""Tests of the launch of the operator: its sizing, its pod, the wrapper and the timeout."""

from __future__ import annotations

import inspect
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import pod as pods

from .conftest import RECORDED, ScriptedServer, prediction, task_context
from .recording_kubernetes import GIB, STATIC, LogLines, end, finish, make, memory


def test_a_pod_is_sized_and_the_grant_is_shown(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB, reason="10Gi: log-linear; 150 runs"))
    operator, _ = make(features={"n": 7}, max_memory="64Gi")
    context = task_context()
    pod = operator.build_pod_request_obj(context)
    assert memory(pod) == "10Gi"
    assert pods.base_container(pod, "base").resources.requests["cpu"] == "1500m"
    assert server.bodies_of("/predict") == [
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
            "metadata": {"image": "i", "kubernetes_namespace": "ns"},
        }
    ]
    assert operator.container_resources.limits["memory"] == "10Gi"
    assert STATIC.limits == {"memory": "8Gi"}
    url = f"{server.url}/ui/try?prediction_id=p-1"
    assert operator.operator_extra_links[0].get_link(operator, ti_key=None) == url
    assert context["ti"].pushed == {"loadaware_receipt": url}
    (line,) = log_lines()
    assert line.startswith(f"the static request of 8Gi → granted 10Gi: log-linear; 150 runs [{url}]")


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
    assert "continuing with the static request of 8Gi" in line


def test_without_a_connection_the_static_request_stays(log_lines: LogLines) -> None:
    operator, _ = make()
    assert memory(operator.build_pod_request_obj(task_context())) == "8Gi"
    (line,) = log_lines()
    assert "continuing with the static request of 8Gi" in line


def test_shadow_changes_nothing_and_is_reported(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(GIB, mode="shadow"))
    server.answers["/observe"] = (200, RECORDED)
    operator, kubernetes = make()
    pod = operator.build_pod_request_obj(task_context())
    assert memory(pod) == "8Gi"
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    assert server.bodies_of("/observe")[0]["prediction_id"] == "p-1"


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
    # Airflow would call a callable in a template field, with other arguments.
    assert not [name for name in operator.template_fields if callable(getattr(operator, name))]
    operator.build_pod_request_obj(task_context())
    assert server.bodies_of("/predict")[0]["features"] == {"run": "run-1"}


def test_the_log_names_once_the_features_that_are_not_sent(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (503, {})  # so that the report reads the features, too
    given = {"rows": Decimal("7"), "token_count": 9, "api_token": "x", "items": [1]}
    operator, kubernetes = make(features=lambda _: given)
    pod = operator.build_pod_request_obj(task_context())
    assert server.bodies_of("/predict")[0]["features"] == {"rows": 7, "token_count": 9}
    finish(operator, kubernetes, end(pod, 0, "Completed", phase="Succeeded"), task_context())
    (line,) = [line for line in log_lines() if "not sent" in line]
    assert line.startswith(
        "features that are not sent: api_token (its name looks like a secret), "
        "items (a value of type list; only numbers, texts, bools and dates are sent)"
    )


def test_many_features_that_are_not_sent_are_counted(server: ScriptedServer, log_lines: LogLines) -> None:
    make(features={f"f{i:03d}": i for i in range(130)})[0].build_pod_request_obj(task_context())
    (line,) = [line for line in log_lines() if "not sent" in line]
    assert line.startswith("features that are not sent: f100 (more than 100 features), f101 ")
    assert ", f119 (more than 100 features) and 10 more" in line and "f120" not in line


def test_failing_features_are_omitted(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, _ = make(features=lambda context: 1 / 0)
    assert memory(operator.build_pod_request_obj(task_context())) == "10Gi"
    assert server.bodies_of("/predict")[0]["features"] is None


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


def test_loadaware_disabled_turns_the_wrapper_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADAWARE_DISABLED", "1")
    operator, _ = make(cmds=["python"], measure="wrapper")
    pod = operator.build_pod_request_obj(task_context())
    assert pods.base_container(pod, "base").command == ["python"]
    assert not pod.spec.init_containers


def test_a_rejected_wrapper_is_omitted(server: ScriptedServer) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, kubernetes = make(cmds=["python"], measure="wrapper")
    kubernetes.rejections = [403, 403]  # the sized pod and the static one, both with an init container
    context = task_context()
    operator.get_or_create_pod(pod_request_obj=operator.build_pod_request_obj(context), context=context)
    *_, last = kubernetes.created
    assert last["spec"]["containers"][0]["command"] == ["python"]
    assert not last["spec"]["init_containers"]


def test_a_rejected_static_request_is_repeated_without_the_wrapper(server: ScriptedServer, log_lines: LogLines) -> None:
    server.answers["/predict"] = (200, prediction(10 * GIB))
    operator, kubernetes = make(cmds=["python"], measure="wrapper")
    kubernetes.rejections = [403] * 4
    context = task_context()
    pod = operator.build_pod_request_obj(context)
    with pytest.raises(ApiException):
        operator.get_or_create_pod(pod_request_obj=pod, context=context)
    created = [body["spec"] for body in kubernetes.created]
    sizes = [(s["containers"][0]["resources"]["limits"]["memory"], bool(s["init_containers"])) for s in created]
    assert sizes == [("10Gi", True), ("8Gi", True), ("8Gi", False)]
    assert "".join(log_lines()).count("rejected the granted size") == 1


def test_an_unknown_measure_is_rejected() -> None:
    with pytest.raises(ValueError, match="wrapper"):
        make(measure="sidecar")


def test_the_timeout_of_a_try_is_sized(server: ScriptedServer, log_lines: LogLines) -> None:
    path = "/tasks/pricing/predict_demand/runtime?n=7&namespace=default&risk=0.01"
    server.answers[path] = (200, {"execution_timeout": {"seconds": 600}})
    operator, _ = make(features={"n": 7}, size_timeout=True, startup_timeout_seconds=120)
    operator.pre_execute(task_context())
    assert operator.execution_timeout == timedelta(minutes=12)
    (line,) = log_lines()
    assert line.startswith("execution_timeout none → 0:12:00")
    plain, _ = make(features={"n": 7})
    plain.pre_execute(task_context())
    assert plain.execution_timeout is None


def test_sizing_the_timeout_never_fails_the_task(server: ScriptedServer, log_lines: LogLines) -> None:
    operator, _ = make(size_timeout=True, feature_keys=7, execution_timeout=timedelta(hours=1))
    operator.pre_execute(task_context())
    assert operator.execution_timeout == timedelta(hours=1)
    (line,) = log_lines()
    assert line.startswith("sizing the timeout failed; continuing without it (TypeError")


@pytest.mark.parametrize(
    ("keys", "sent"), [(None, {}), ("size_*", {"size_a": 1}), (["size_*"], {"size_a": 1})], ids=str
)
def test_feature_keys_may_be_a_list_of_globs_a_single_glob_or_none(
    server: ScriptedServer, keys: Any, sent: dict[str, int]
) -> None:
    operator, _ = make(feature_keys=keys, size_timeout=True)
    context = task_context(dag_run=SimpleNamespace(conf={"size_a": 1, "other": 2}))
    operator.pre_execute(context)
    operator.build_pod_request_obj(context)
    assert server.bodies_of("/predict")[0].get("features") == (sent or None)


def test_without_a_suggestion_the_timeout_of_the_dag_stays(server: ScriptedServer, log_lines: LogLines) -> None:
    operator, _ = make(size_timeout=True, execution_timeout=timedelta(hours=1))
    operator.pre_execute(task_context(task=operator))
    assert operator.execution_timeout == timedelta(hours=1)
    (line,) = log_lines()
    assert line.startswith("sizing the timeout failed")


def test_the_timeout_is_sent_and_its_effect_is_logged(server: ScriptedServer, log_lines: LogLines) -> None:
    duration = {"median_seconds": 60, "p95_seconds": 90, "p99_seconds": 120, "timeout_probability": 0.2}
    duration |= {"shape": None, "outlier_probability": 0.0}
    server.answers["/predict"] = (200, prediction(10 * GIB, duration=duration))
    operator, _ = make(features={"n": 7}, execution_timeout=timedelta(minutes=1))
    operator.build_pod_request_obj(task_context(task=operator))
    assert server.bodies_of("/predict")[0]["execution_timeout_seconds"] == 60
    assert log_lines()[1].startswith(
        "median run time 0:01:00, 99 % below 0:02:00; execution_timeout 0:01:00 stops 20 % of healthy runs"
    )
