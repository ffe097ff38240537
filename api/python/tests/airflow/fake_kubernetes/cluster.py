"""The pods of the cluster, with their status and events."""

from __future__ import annotations

import copy
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from fake_kubernetes.labels import matches
from fake_kubernetes.lifecycle import STARTUP, Lifecycle, rfc3339
from fake_kubernetes.quantity import memory_bytes
from fake_kubernetes.resizing import FIRST_VERSION, InvalidResizeError, Resizing, qos_class
from fake_kubernetes.script import Failure, Script, script_of

Json = dict[str, Any]


class RejectedError(Exception):
    """An answer other than 2xx: code, reason and message of a Kubernetes Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


@dataclass
class Pod:
    manifest: Json
    lifecycle: Lifecycle
    created_at: float  # on the cluster's clock, in seconds
    released_at: float | None = None  # on the same clock, when a waiting pod (Script.waits) was released; None before
    reads: int = 0  # number of lookups by name, also for its events; its creation and lists of pods do not count
    # patches of the subresource `resize`, including the rejected ones; empty if the API version has no such subresource
    resizes: list[Json] = field(default_factory=list)
    resizing: Resizing = field(init=False)

    def __post_init__(self) -> None:
        self.resizing = Resizing.of(self.manifest["spec"], self.lifecycle.base, self.lifecycle.script)

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"]["namespace"])

    @property
    def labels(self) -> dict[str, str]:
        return self.manifest["metadata"].get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.manifest["metadata"].get("annotations") or {}

    @property
    def base(self) -> Json:
        return next(c for c in self.manifest["spec"]["containers"] if c["name"] == self.lifecycle.base)

    @property
    def memory_limit(self) -> int | None:
        """The memory limit in the spec of the base container, in bytes, or None."""
        return self.lifecycle.limit()

    def limit_in_force(self, seconds: float) -> int | None:
        """Return the memory limit of the base container in bytes, at a number of seconds since the creation."""
        names = [container["name"] for container in self.manifest["spec"]["containers"]]
        limits = self.resizing.in_force(seconds)[names.index(self.lifecycle.base)].get("limits") or {}
        return memory_bytes(str(limits["memory"])) if "memory" in limits else None


@dataclass
class Cluster:
    """Pods by namespace and name. Thread-safe; tests may replace the clock.

    The run time of a waiting pod (Script.waits) starts when the cluster releases it. Requests call `is_released` for
    such a pod until it returns true.
    """

    clock: Callable[[], float] = time.monotonic
    version: tuple[int, int] = (1, 34)
    forbidden: set[str] = field(default_factory=set)  # what access reviews deny, such as "patch pods/resize"
    has_metrics: bool = True
    is_released: Callable[[Pod], bool] = field(default=lambda pod: True)
    history: list[Pod] = field(default_factory=list)  # all created pods, in order
    rejections: list[RejectedError] = field(default_factory=list)  # of creations by quota or admission, in order
    _pods: dict[tuple[str, str], Pod] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def create(self, namespace: str, manifest: Json) -> Json:
        manifest = copy.deepcopy(manifest)
        spec = manifest.setdefault("spec", {})
        if not spec.get("containers"):
            raise RejectedError(422, "Invalid", "spec.containers: Required value")
        base, script = _find_script(spec)
        lifecycle = Lifecycle(spec, base, script, datetime.now(timezone.utc))
        meta = manifest.setdefault("metadata", {})
        meta["namespace"] = namespace
        meta.setdefault("name", meta.pop("generateName", "pod-") + uuid.uuid4().hex[:8])
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = rfc3339(lifecycle.created_at)
        pod = Pod(manifest, lifecycle, self.clock())
        pod.lifecycle = replace(
            lifecycle,
            limit_at=lambda age: pod.limit_in_force(self.seconds_of(pod, age)),
            grown_at=lambda: self._grown_at(pod),
        )
        with self._lock:
            self._admit(pod)
            if (namespace, pod.name) in self._pods:
                raise RejectedError(409, "AlreadyExists", f'pods "{pod.name}" already exists')
            self._pods[namespace, pod.name] = pod
            self.history.append(pod)
        return self.render(pod)

    def get(self, namespace: str, name: str) -> Pod:
        with self._lock:
            self._remove_preempted()
            pod = self._pods.get((namespace, name))
        if pod is None:
            raise RejectedError(404, "NotFound", f'pods "{name}" not found')
        pod.reads += 1
        return pod

    def find(self, namespace: str, selector: str = "") -> list[Pod]:
        with self._lock:
            self._remove_preempted()
            pods = [pod for pod in self._pods.values() if pod.namespace == namespace]
        return [pod for pod in pods if matches(selector, pod.labels)]

    def patch(self, namespace: str, name: str, change: Json) -> Json:
        pod = self.get(namespace, name)
        with self._lock:
            _merge(pod.manifest, change)
        return self.render(pod)

    def delete(self, namespace: str, name: str) -> Json:
        pod = self.get(namespace, name)
        with self._lock:
            self._pods.pop((namespace, name), None)
        return self.render(pod)

    def age(self, pod: Pod) -> float:
        """Return the age of a pod in seconds. The age of a waiting pod stays at STARTUP until its release."""
        age = self.clock() - pod.created_at
        if not pod.lifecycle.script.waits or age < STARTUP:
            return age
        return STARTUP if self.is_waiting(pod) else STARTUP + self.clock() - (pod.released_at or 0)

    def seconds_of(self, pod: Pod, age: float) -> float:
        """Return the seconds from the creation of a pod to an age; they include the time that the pod waited."""
        if not pod.lifecycle.script.waits or age <= STARTUP or pod.released_at is None:
            return age
        return age - STARTUP + pod.released_at - pod.created_at

    def is_waiting(self, pod: Pod) -> bool:
        """Release a waiting pod if `is_released` permits it. Returns whether the pod still waits."""
        if pod.lifecycle.script.waits and pod.released_at is None and self.is_released(pod):
            pod.released_at = self.clock()
        return pod.lifecycle.script.waits and pod.released_at is None

    def render(self, pod: Pod) -> Json:
        seconds = self.clock() - pod.created_at
        with self._lock:
            pod.resizing.settle(seconds, pod.manifest["spec"])
            manifest = copy.deepcopy(pod.manifest)
        status = pod.lifecycle.status(self.age(pod))
        if self.version >= FIRST_VERSION and status.get("containerStatuses"):
            status["conditions"] += pod.resizing.conditions(seconds)
            status["qosClass"] = qos_class(manifest["spec"])
            shown = zip(pod.resizing.allocated, pod.resizing.in_force(seconds), strict=True)
            for container, (allocated, in_force) in zip(status["containerStatuses"], shown, strict=True):
                container |= {"allocatedResources": allocated.get("requests") or {}, "resources": in_force}
        return {**manifest, "apiVersion": "v1", "kind": "Pod", "status": status}

    def resize(self, namespace: str, name: str, change: Json) -> Json:
        pod = self.get(namespace, name)
        if self.version < FIRST_VERSION:
            raise RejectedError(404, "NotFound", "the server could not find the requested resource")
        with self._lock:
            pod.resizes.append(change)
            script = pod.lifecycle.script
            if len(pod.resizes) <= script.resize_refusals:
                raise RejectedError(script.resize_status, "Forbidden", f'pods "{name}" is forbidden: cannot resize')
            spec = copy.deepcopy(pod.manifest["spec"])
            for changed in (change.get("spec") or {}).get("containers") or ():
                for container in spec["containers"]:
                    if container["name"] == changed.get("name"):
                        _merge(container, changed)
            try:
                pod.resizing.validate(pod.manifest["spec"], spec, self.version)
            except InvalidResizeError as error:
                raise RejectedError(422, "Invalid", f'Pod "{name}" is invalid: {error}') from None
            for container, changed in zip(pod.manifest["spec"]["containers"], spec["containers"], strict=True):
                container.update(changed)
            pod.resizing.request(self.clock() - pod.created_at, pod.manifest["spec"])
        return self.render(pod)

    def metrics(self, namespace: str, name: str) -> Json:
        pod = self.get(namespace, name)
        age, script = self.age(pod), pod.lifecycle.script
        if not script.measured or not pod.lifecycle.has_started(age) or pod.lifecycle.has_ended(age):
            raise RejectedError(404, "NotFound", f'podmetrics.metrics.k8s.io "{namespace}/{name}" not found')
        usage = {"memory": str(script.memory_at(age - STARTUP)), "cpu": f"{script.cores * 1e9:.0f}n"}
        return {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "PodMetrics",
            "metadata": {"name": name, "namespace": namespace},
            "timestamp": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
            "window": "15s",
            "containers": [{"name": pod.lifecycle.base, "usage": usage}],
        }

    def events(self, namespace: str, name: str) -> list[Json]:
        pod = self.get(namespace, name)
        if pod.lifecycle.failure() is Failure.UNSCHEDULABLE:
            events = [("Warning", "FailedScheduling", "0/3 nodes are available: 3 Insufficient memory.")]
        else:
            events = [("Normal", "Scheduled", f"Successfully assigned {namespace}/{name} to a node")]
            if pod.lifecycle.has_started(self.age(pod)):
                events.append(("Normal", "Started", f"Started container {pod.lifecycle.base}"))
        return [_event(pod, number, *fields) for number, fields in enumerate(events, start=1)]

    def _grown_at(self, pod: Pod) -> float | None:
        """Return the age at which the limit reached `grows_to`, or None before that; STARTUP without `grows_to`."""
        goal, now = pod.lifecycle.script.grows_to, self.clock() - pod.created_at
        if goal is None:
            return STARTUP
        for seconds in pod.resizing.times():
            if seconds <= now and (pod.limit_in_force(seconds) or 0) >= goal:
                waited = (pod.released_at or 0) - pod.created_at - STARTUP if pod.lifecycle.script.waits else 0.0
                return max(STARTUP, seconds - waited)
        return None

    def _admit(self, pod: Pod) -> None:
        script, limit = pod.lifecycle.script, pod.memory_limit or 0
        rejection: RejectedError | None = None
        if script.quota is not None and limit > script.quota:
            rejection = RejectedError(403, "Forbidden", f'pods "{pod.name}" is forbidden: exceeded quota: memory')
        elif script.admission is not None and limit < script.admission:
            rejection = RejectedError(422, "Invalid", f'Pod "{pod.name}" is invalid: memory is below the minimum')
        if rejection is not None:
            self.rejections.append(rejection)
            raise rejection

    def _remove_preempted(self) -> None:
        for key, pod in list(self._pods.items()):
            if pod.lifecycle.is_deleted(self.age(pod)):
                del self._pods[key]


def _find_script(spec: Json) -> tuple[str, Script]:
    for container in spec["containers"]:
        script = script_of(container)
        if script is not None:
            return str(container["name"]), script
    return str(spec["containers"][0]["name"]), Script()


def _merge(into: Json, change: Json) -> None:
    """Apply a JSON merge patch (RFC 7396)."""
    for name, value in change.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value


def _event(pod: Pod, number: int, kind: str, reason: str, message: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{pod.name}.{number}",
            "namespace": pod.namespace,
            "uid": f"{pod.manifest['metadata']['uid']}-{number}",
            "resourceVersion": str(number),
        },
        "involvedObject": {"kind": "Pod", "name": pod.name, "namespace": pod.namespace},
        "type": kind,
        "reason": reason,
        "message": message,
    }
