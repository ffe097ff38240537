"""Tests that the fake API works with the real Kubernetes clients.

The run time of a pod whose script has `waits` (a waiting pod) begins when `Cluster.is_released` returns True; a read
of such a pod without a node lasts until then. The run time of a pod whose script has `grows_to` (a growing pod) begins
when its memory limit has been raised to `grows_to`.
"""

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

from fake_kubernetes import SCRIPT_VARIABLE, Cluster, Failure, NodeCapacity, Script

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


def brief(**fields: Any) -> Script:
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
    done = terminated_state(run(api, manifest(brief(need=7 * MIB))))
    assert (done.exit_code, done.reason, done.message) == (0, "Completed", '{"memory_max_bytes": 7340032}')


@pytest.mark.parametrize(
    ("script", "phase", "reason", "code"),
    [
        (brief(need=101 * MIB), "Failed", "OOMKilled", 137),
        (brief(need=100 * MIB), "Succeeded", "Completed", 0),
        (brief(need=101 * MIB, fails_when_short=Failure.OOM_EXIT_0), "Succeeded", "OOMKilled", 0),
        (brief(need=101 * MIB, fails_when_short=Failure.MEMORY_ERROR), "Failed", "Error", 1),
        (brief(need=MIB, fails=Failure.KILLED), "Failed", "Error", 137),
        (brief(need=MIB, fails=Failure.FAILED), "Failed", "Error", 1),
    ],
)
def test_the_base_container_terminates(api: Any, script: Script, phase: str, reason: str, code: int) -> None:
    pod = run(api, manifest(script))
    done = terminated_state(pod)
    assert (pod.status.phase, done.reason, done.exit_code) == (phase, reason, code)


def test_an_evicted_pod_has_the_reason_evicted(api: Any) -> None:
    pod = run(api, manifest(brief(fails=Failure.EVICTED)))
    assert (pod.status.phase, pod.status.reason) == ("Failed", "Evicted")


def test_a_preempted_pod_is_gone(api: Any) -> None:
    api.create_namespaced_pod(NS, manifest(brief(fails=Failure.PREEMPTED)))
    wait_until(lambda: not api.list_namespaced_pod(NS).items)
    with pytest.raises(ApiException) as caught:
        api.read_namespaced_pod("p", NS)
    assert caught.value.status == 404


def test_the_oom_of_a_sidecar_is_not_an_oom_of_the_base_container(api: Any) -> None:
    pod = run(api, manifest(brief(need=MIB, fails=Failure.SIDECAR_OOM)))
    assert (terminated_state(pod, "proxy").reason, terminated_state(pod).reason) == ("OOMKilled", "Error")


def test_the_base_container_never_starts_after_the_oom_of_an_init_container(api: Any) -> None:
    pod = run(api, manifest(brief(need=MIB, fails=Failure.INIT_OOM)))
    assert terminated_state(pod, "fetch").reason == "OOMKilled"
    assert terminated_state(pod) is None


def test_an_unschedulable_pod_stays_pending(api: Any) -> None:
    api.create_namespaced_pod(NS, manifest(brief(fails=Failure.UNSCHEDULABLE)))
    status = api.read_namespaced_pod("p", NS).status
    assert (status.phase, status.conditions[0].reason) == ("Pending", "Unschedulable")
    events = api.list_namespaced_event(NS, field_selector="involvedObject.name=p").items
    assert [event.reason for event in events] == ["FailedScheduling"]


def test_a_read_of_a_waiting_pod_without_a_node_lasts_until_its_release(api: Any, cluster: Cluster) -> None:
    checks: list[bool] = []
    cluster.is_released = lambda pod: len(checks) > 2 or checks.append(False) is not None
    api.create_namespaced_pod(NS, manifest(brief(fails=Failure.UNSCHEDULABLE, waits=True)))
    assert api.read_namespaced_pod("p", NS).status.phase == "Pending"
    assert len(checks) == 3


@pytest.mark.parametrize(("script", "code"), [(brief(quota=99 * MIB), 403), (brief(admission=101 * MIB), 422)])
def test_quota_and_admission_reject_a_creation(api: Any, cluster: Cluster, script: Script, code: int) -> None:
    with pytest.raises(ApiException) as caught:
        api.create_namespaced_pod(NS, manifest(script))
    assert caught.value.status == code
    assert not cluster.history


def test_the_log_can_be_followed_to_the_end(api: Any, cluster: Cluster) -> None:
    released = False
    cluster.is_released = lambda pod: released
    script = brief(need=200 * MIB, waits=True, fails_when_short=Failure.BAD_ALLOC, log=("one",))
    api.create_namespaced_pod(NS, manifest(script))
    wait_until(lambda: api.read_namespaced_pod("p", NS).status.phase == "Running")
    partial = log(api, container="base")
    released = True
    whole = log(api, container="base", follow=True)
    assert partial == "one\n"
    assert whole.startswith("one\n") and "std::bad_alloc" in whole
    assert "std::bad_alloc" in log(api, tail_lines=1)
    assert log(api, tail_lines=0) == ""


def test_a_waiting_pod_runs_until_it_is_released(api: Any, cluster: Cluster) -> None:
    released = False
    cluster.is_released = lambda pod: released
    api.create_namespaced_pod(NS, manifest(brief(need=MIB, waits=True)))
    wait_until(lambda: api.read_namespaced_pod("p", NS).status.phase == "Running")
    cluster.clock = lambda: time.monotonic() + 3600
    assert api.read_namespaced_pod("p", NS).status.phase == "Running"
    released = True
    wait_until(lambda: api.read_namespaced_pod("p", NS).status.phase == "Succeeded")


def test_pods_are_found_by_label_patched_and_deleted(api: Any) -> None:
    api.create_namespaced_pod(NS, manifest(brief(), labels={"task": "t", "try": "1"}))
    assert len(api.list_namespaced_pod(NS, label_selector="task=t,checked!=True,!worker").items) == 1
    assert not api.list_namespaced_pod(NS, label_selector="task=u").items
    api.patch_namespaced_pod("p", NS, {"metadata": {"labels": {"checked": "True"}}})
    assert not api.list_namespaced_pod(NS, label_selector="task=t,checked!=True").items
    api.delete_namespaced_pod("p", NS)
    assert not api.list_namespaced_pod(NS).items


def test_the_asynchronous_client_reads_pods_and_watches_events(api: Any, kubeconfig: Path) -> None:
    api.create_namespaced_pod(NS, manifest(brief(need=MIB)))

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


def test_a_script_round_trips_through_json() -> None:
    script = Script(need=5, fails=Failure.EVICTED, log=("a", "b"), message="m", quota=7)
    assert Script.from_json(script.to_json()) == script
    assert Script.from_json("{}") == Script()


def resizable(script: Script, memory: str = "100Mi", cpu: str = "100m", **more: Any) -> Any:
    pod = manifest(script, memory)
    (base, *_) = pod["spec"]["containers"]
    base["resources"] = {"requests": {"memory": memory, "cpu": cpu}, "limits": {"memory": memory}}
    base |= more
    return pod


def resize(api: Any, limit: str | None = None, request: str | None = None, cpu: str | None = None) -> Any:
    requests = {name: amount for name, amount in (("memory", request), ("cpu", cpu)) if amount}
    resources = {"limits": {"memory": limit} if limit else {}, "requests": requests}
    containers = [{"name": "base", "resources": resources}]
    return api.patch_namespaced_pod_resize("p", NS, {"spec": {"containers": containers}})


def status_of(pod: Any) -> tuple[Any, Any, list[tuple[str, str | None]]]:
    base = next(s for s in pod.status.container_statuses if s.name == "base")
    conditions = [(c.type, c.reason) for c in pod.status.conditions if c.type.startswith("PodResize")]
    return base.resources.limits["memory"], base.allocated_resources["memory"], conditions


def test_an_accepted_resize_is_in_progress_and_then_in_force(api: Any, cluster: Cluster) -> None:
    now = 0.0
    cluster.clock = lambda: now
    api.create_namespaced_pod(NS, resizable(Script(need=MIB, seconds=60, resize_seconds=2)))
    now = 1.0
    assert status_of(resize(api, "200Mi", "200Mi")) == ("100Mi", "200Mi", [("PodResizeInProgress", None)])
    now = 3.5
    pod = api.read_namespaced_pod("p", NS)
    assert status_of(pod) == ("200Mi", "200Mi", [])
    assert next(c for c in pod.spec.containers if c.name == "base").resources.requests["cpu"] == "100m"


@pytest.mark.parametrize(("capacity", "reason"), [(NodeCapacity.LATER, "Deferred"), (NodeCapacity.NEVER, "Infeasible")])
def test_a_node_without_capacity_accepts_only_a_larger_limit(
    api: Any, cluster: Cluster, capacity: NodeCapacity, reason: str
) -> None:
    now = 0.0
    cluster.clock = lambda: now
    script = Script(need=MIB, seconds=60, capacity=capacity, deferred_seconds=10, resize_seconds=0)
    api.create_namespaced_pod(NS, resizable(script))
    now = 1.0
    assert status_of(resize(api, "200Mi", "200Mi")) == ("100Mi", "100Mi", [("PodResizePending", reason)])
    assert status_of(resize(api, "200Mi", "100Mi")) == ("200Mi", "100Mi", [])
    resize(api, "300Mi", "300Mi")
    now = 12.0
    later = status_of(api.read_namespaced_pod("p", NS))
    assert later == (
        ("300Mi", "300Mi", []) if capacity is NodeCapacity.LATER else ("200Mi", "100Mi", [("PodResizePending", reason)])
    )


@pytest.mark.parametrize(
    ("version", "change", "code"),
    [
        ((1, 32), {"limit": "200Mi"}, 404),
        ((1, 33), {"limit": "50Mi", "request": "50Mi"}, 422),
        ((1, 34), {"limit": "50Mi", "request": "50Mi"}, 200),
        ((1, 33), {"request": "200Mi"}, 422),
        ((1, 33), {"limit": "200Mi"}, 200),
    ],
)
def test_the_api_server_checks_a_resize(
    api: Any, cluster: Cluster, version: tuple[int, int], change: dict[str, str], code: int
) -> None:
    cluster.version = version
    api.create_namespaced_pod(NS, resizable(Script(need=MIB, seconds=60)))
    try:
        resize(api, **change)
        answered = 200
    except ApiException as error:
        answered = error.status
    assert answered == code


def test_the_qos_class_cannot_change(api: Any) -> None:
    pod = resizable(Script(need=MIB, seconds=60))
    pod["spec"]["containers"] = pod["spec"]["containers"][:1]
    resources = pod["spec"]["containers"][0]["resources"]
    resources["limits"]["cpu"] = resources["requests"]["cpu"]
    assert api.create_namespaced_pod(NS, pod).spec.containers[0].resources.limits["cpu"] == "100m"
    with pytest.raises(ApiException, match="QOS") as caught:
        resize(api, limit="200Mi")
    assert caught.value.status == 422
    resize(api, "200Mi", "200Mi")


def test_the_first_resizes_can_be_refused(api: Any) -> None:
    api.create_namespaced_pod(NS, resizable(Script(need=MIB, seconds=60, resize_refusals=1, resize_status=405)))
    with pytest.raises(ApiException) as caught:
        resize(api, "200Mi")
    assert caught.value.status == 405
    resize(api, "200Mi")


def test_metrics_show_the_current_usage_and_a_resize_in_time_saves_the_pod(api: Any, cluster: Cluster) -> None:
    now = 0.0
    cluster.clock = lambda: now
    script = Script(seconds=60, memory=((0, 10 * MIB), (10, 90 * MIB), (20, 150 * MIB)), resize_seconds=5)
    metrics = client.CustomObjectsApi(api.api_client)
    used = []
    api.create_namespaced_pod(NS, resizable(script))
    for now in (5.0, 15.0):  # noqa: B007 - the clock reads it
        found = metrics.get_namespaced_custom_object("metrics.k8s.io", "v1beta1", NS, "pods", "p")
        used.append(int(found["containers"][0]["usage"]["memory"]))
    assert used == [10 * MIB, 90 * MIB]
    resize(api, "200Mi", "200Mi")
    now = 19.0
    assert api.read_namespaced_pod("p", NS).status.phase == "Running"
    now = 21.0
    assert api.read_namespaced_pod("p", NS).status.phase == "Running", "the resize was not in force in time"


def test_a_resize_that_is_too_late_does_not_save_a_pod(api: Any, cluster: Cluster) -> None:
    now = 0.0
    cluster.clock = lambda: now
    script = Script(seconds=60, memory=((0, 10 * MIB), (10, 150 * MIB)), resize_seconds=5)
    api.create_namespaced_pod(NS, resizable(script))
    now = 7.0
    resize(api, "200Mi", "200Mi")
    now = 30.0
    done = terminated_state(api.read_namespaced_pod("p", NS))
    assert (done.reason, done.exit_code) == ("OOMKilled", 137)


def test_a_growing_pod_ends_after_its_limit_has_grown(api: Any, cluster: Cluster) -> None:
    now = 0.0
    cluster.clock = lambda: now
    api.create_namespaced_pod(NS, resizable(Script(need=MIB, seconds=1, grows_to=200 * MIB, resize_seconds=1)))
    now = 50.0
    assert api.read_namespaced_pod("p", NS).status.phase == "Running"
    resize(api, "200Mi", "200Mi")
    now = 52.5
    assert api.read_namespaced_pod("p", NS).status.phase == "Succeeded"


def test_clients_read_the_version_the_api_groups_and_the_permissions(api: Any, cluster: Cluster) -> None:
    cluster.version, cluster.has_metrics, cluster.forbidden = (1, 32), False, {"patch pods/resize"}
    assert client.VersionApi(api.api_client).get_code().minor == "32"
    assert "metrics.k8s.io" not in {group.name for group in client.ApisApi(api.api_client).get_api_versions().groups}
    attributes = client.V1ResourceAttributes(verb="patch", resource="pods", subresource="resize", namespace=NS)
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))
    api_of_reviews = client.AuthorizationV1Api(api.api_client)
    assert not api_of_reviews.create_self_subject_access_review(review).status.allowed
