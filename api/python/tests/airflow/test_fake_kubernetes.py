"""Tests that the fake API works with the real Kubernetes clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_asyncio
import pytest
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from fake_kubernetes import SCRIPT_VARIABLE, Cluster, Failure, Script

NS = "jobs"
MIB = 2**20


@pytest.fixture
def api(kubeconfig: Path) -> Any:  # the client's models make every field optional
    return client.CoreV1Api(config.new_client_from_config(str(kubeconfig)))  # type: ignore[no-untyped-call]


def manifest(script: Script, memory: str = "100Mi", **metadata: Any) -> Any:
    base = {
        "name": "base",
        "image": "none",
        "env": [{"name": SCRIPT_VARIABLE, "value": script.to_json()}],
        "resources": {"limits": {"memory": memory}},
    }
    spec = {
        "containers": [base, {"name": "proxy", "image": "none"}],
        "initContainers": [{"name": "fetch", "image": "none"}],
    }
    return {"metadata": {"name": "p", **metadata}, "spec": spec}


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("timeout: the condition did not become true")


def run(api: Any, pod: Any) -> Any:
    api.create_namespaced_pod(NS, pod)
    wait_until(lambda: api.read_namespaced_pod("p", NS).status.phase in ("Succeeded", "Failed"))
    return api.read_namespaced_pod("p", NS)


def log(api: Any, **options: Any) -> str:
    raw = api.read_namespaced_pod_log("p", NS, _preload_content=False, **options)
    return str(raw.data.decode())


def short(**fields: Any) -> Script:
    return Script(seconds=0.1, **fields)


def terminated_state(pod: Any, container: str = "base") -> Any:
    statuses = pod.status.container_statuses + pod.status.init_container_statuses
    return next(s for s in statuses if s.name == container).state.terminated


def test_a_pod_is_pending_then_runs_then_succeeds(api: Any, cluster: Cluster) -> None:
    now = 0.0
    cluster.clock = lambda: now
    phases = [api.create_namespaced_pod(NS, manifest(Script(need=MIB, seconds=2))).status.phase]
    for now in (0.1, 1.0, 2.1, 3.0):  # noqa: B007 - the clock reads it
        phases.append(api.read_namespaced_pod("p", NS).status.phase)
    assert phases == ["Pending", "Pending", "Running", "Running", "Succeeded"]


def test_the_termination_message_contains_the_peak(api: Any) -> None:
    done = terminated_state(run(api, manifest(short(need=7 * MIB))))
    assert (done.exit_code, done.reason, done.message) == (0, "Completed", '{"memory_max_bytes": 7340032}')


@pytest.mark.parametrize(
    ("script", "phase", "reason", "code"),
    [
        (short(need=101 * MIB), "Failed", "OOMKilled", 137),
        (short(need=100 * MIB), "Succeeded", "Completed", 0),
        (short(need=101 * MIB, fails_when_short=Failure.OOM_EXIT_0), "Succeeded", "OOMKilled", 0),
        (short(need=101 * MIB, fails_when_short=Failure.MEMORY_ERROR), "Failed", "Error", 1),
        (short(need=MIB, fails=Failure.KILLED), "Failed", "Error", 137),
        (short(need=MIB, fails=Failure.FAILED), "Failed", "Error", 1),
    ],
)
def test_the_base_container_terminates(api: Any, script: Script, phase: str, reason: str, code: int) -> None:
    pod = run(api, manifest(script))
    done = terminated_state(pod)
    assert (pod.status.phase, done.reason, done.exit_code) == (phase, reason, code)


def test_an_evicted_pod_has_the_reason_evicted(api: Any) -> None:
    pod = run(api, manifest(short(fails=Failure.EVICTED)))
    assert (pod.status.phase, pod.status.reason) == ("Failed", "Evicted")


def test_a_preempted_pod_is_gone(api: Any) -> None:
    api.create_namespaced_pod(NS, manifest(short(fails=Failure.PREEMPTED)))
    wait_until(lambda: not api.list_namespaced_pod(NS).items)
    with pytest.raises(ApiException) as caught:
        api.read_namespaced_pod("p", NS)
    assert caught.value.status == 404


def test_the_oom_of_a_sidecar_is_not_an_oom_of_the_base_container(api: Any) -> None:
    pod = run(api, manifest(short(need=MIB, fails=Failure.SIDECAR_OOM)))
    assert (terminated_state(pod, "proxy").reason, terminated_state(pod).reason) == ("OOMKilled", "Error")


def test_the_base_container_never_starts_after_the_oom_of_an_init_container(api: Any) -> None:
    pod = run(api, manifest(short(need=MIB, fails=Failure.INIT_OOM)))
    assert terminated_state(pod, "fetch").reason == "OOMKilled"
    assert terminated_state(pod) is None


def test_an_unschedulable_pod_stays_pending(api: Any) -> None:
    api.create_namespaced_pod(NS, manifest(short(fails=Failure.UNSCHEDULABLE)))
    status = api.read_namespaced_pod("p", NS).status
    assert (status.phase, status.conditions[0].reason) == ("Pending", "Unschedulable")
    events = api.list_namespaced_event(NS, field_selector="involvedObject.name=p").items
    assert [event.reason for event in events] == ["FailedScheduling"]


def test_a_gated_pod_without_a_node_is_read_after_its_release(api: Any, cluster: Cluster) -> None:
    checks: list[bool] = []
    cluster.is_released = lambda pod: len(checks) > 2 or checks.append(False) is not None
    api.create_namespaced_pod(NS, manifest(short(fails=Failure.UNSCHEDULABLE, gated=True)))
    assert api.read_namespaced_pod("p", NS).status.phase == "Pending"
    assert len(checks) == 3


@pytest.mark.parametrize(("script", "code"), [(short(quota=99 * MIB), 403), (short(admission=101 * MIB), 422)])
def test_quota_and_admission_reject_a_creation(api: Any, cluster: Cluster, script: Script, code: int) -> None:
    with pytest.raises(ApiException) as caught:
        api.create_namespaced_pod(NS, manifest(script))
    assert caught.value.status == code
    assert not cluster.history


def test_the_log_can_be_followed_to_the_end(api: Any, cluster: Cluster) -> None:
    released = False
    cluster.is_released = lambda pod: released
    script = short(need=200 * MIB, gated=True, fails_when_short=Failure.BAD_ALLOC, log=("one",))
    api.create_namespaced_pod(NS, manifest(script))
    wait_until(lambda: api.read_namespaced_pod("p", NS).status.phase == "Running")
    partial = log(api, container="base")
    released = True
    whole = log(api, container="base", follow=True)
    assert partial == "one\n"
    assert whole.startswith("one\n") and "std::bad_alloc" in whole
    assert "std::bad_alloc" in log(api, tail_lines=1)


def test_a_gated_pod_runs_until_it_is_released(api: Any, cluster: Cluster) -> None:
    released = False
    cluster.is_released = lambda pod: released
    api.create_namespaced_pod(NS, manifest(short(need=MIB, gated=True)))
    wait_until(lambda: api.read_namespaced_pod("p", NS).status.phase == "Running")
    cluster.clock = lambda: time.monotonic() + 3600
    assert api.read_namespaced_pod("p", NS).status.phase == "Running"
    released = True
    wait_until(lambda: api.read_namespaced_pod("p", NS).status.phase == "Succeeded")


def test_pods_are_found_by_label_patched_and_deleted(api: Any) -> None:
    api.create_namespaced_pod(NS, manifest(short(), labels={"task": "t", "try": "1"}))
    assert len(api.list_namespaced_pod(NS, label_selector="task=t,checked!=True,!worker").items) == 1
    assert not api.list_namespaced_pod(NS, label_selector="task=u").items
    api.patch_namespaced_pod("p", NS, {"metadata": {"labels": {"checked": "True"}}})
    assert not api.list_namespaced_pod(NS, label_selector="task=t,checked!=True").items
    api.delete_namespaced_pod("p", NS)
    assert not api.list_namespaced_pod(NS).items


def test_the_asynchronous_client_reads_pods_and_watches_events(api: Any, kubeconfig: Path) -> None:
    api.create_namespaced_pod(NS, manifest(short(need=MIB)))

    async def read_and_watch() -> tuple[str, list[str]]:
        await kubernetes_asyncio.config.load_kube_config(str(kubeconfig))
        async with kubernetes_asyncio.client.ApiClient() as connection:
            core = kubernetes_asyncio.client.CoreV1Api(connection)
            watch = kubernetes_asyncio.watch.Watch()
            reasons: list[str] = []
            async for event in watch.stream(
                core.list_namespaced_event,
                namespace=NS,
                field_selector="involvedObject.name=p",
                timeout_seconds=30,
            ):
                reasons.append(event["object"].reason)
                if len(reasons) == 2:
                    watch.stop()
            return (await core.read_namespaced_pod("p", NS)).metadata.name, reasons

    assert asyncio.run(read_and_watch()) == ("p", ["Scheduled", "Started"])


def test_a_script_round_trips_through_the_environment() -> None:
    script = Script(need=5, fails=Failure.EVICTED, log=("a", "b"), message="m", quota=7)
    assert Script.from_json(script.to_json()) == script
    assert Script.from_json("{}") == Script()
