"""The pods of the cluster, with their status and events."""

from __future__ import annotations

import copy
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from fake_kubernetes.labels import matches
from fake_kubernetes.lifecycle import STARTUP, Lifecycle, rfc3339
from fake_kubernetes.script import Failure, Script, script_of

Json = dict[str, Any]


class RejectedError(Exception):
    """An answer other than 2xx: status, reason and message of a Kubernetes Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


@dataclass
class Pod:
    """One pod: its manifest and its lifecycle."""

    manifest: Json
    lifecycle: Lifecycle
    created_at: float  # on the cluster's clock, in seconds
    released_at: float | None = None  # release of a gated pod, on the same clock
    reads: int = 0  # number of reads of this pod alone, without lists

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
        """The container that has the script."""
        return next(c for c in self.manifest["spec"]["containers"] if c["name"] == self.lifecycle.base)

    @property
    def memory_limit(self) -> int | None:
        """The memory limit of the base container, in bytes."""
        return self.lifecycle.limit()


@dataclass
class Cluster:
    """Pods by namespace and name. Thread-safe; tests may replace the clock.

    `is_released` decides whether a gated pod may continue; reads of the pod call it.
    """

    clock: Callable[[], float] = time.monotonic
    is_released: Callable[[Pod], bool] = field(default=lambda pod: True)
    history: list[Pod] = field(default_factory=list)  # all created pods, in order
    rejections: list[RejectedError] = field(default_factory=list)  # rejected creations, in order
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
        """Return the age of a pod in seconds. The age of a gated pod stops at its first process."""
        age = self.clock() - pod.created_at
        if not pod.lifecycle.script.gated or age < STARTUP:
            return age
        return STARTUP if self.is_gated(pod) else STARTUP + self.clock() - (pod.released_at or 0)

    def is_gated(self, pod: Pod) -> bool:
        """Return whether a pod waits for its release."""
        if pod.lifecycle.script.gated and pod.released_at is None and self.is_released(pod):
            pod.released_at = self.clock()
        return pod.lifecycle.script.gated and pod.released_at is None

    def render(self, pod: Pod) -> Json:
        """Return the pod in the API's format."""
        with self._lock:
            manifest = copy.deepcopy(pod.manifest)
        return {
            **manifest,
            "apiVersion": "v1",
            "kind": "Pod",
            "status": pod.lifecycle.status(self.age(pod)),
        }

    def events(self, namespace: str, name: str) -> list[Json]:
        """Return the events of a pod so far, oldest first."""
        pod = self.get(namespace, name)
        if pod.lifecycle.failure() is Failure.UNSCHEDULABLE:
            events = [("Warning", "FailedScheduling", "0/3 nodes are available: 3 Insufficient memory.")]
        else:
            events = [("Normal", "Scheduled", f"Successfully assigned {namespace}/{name} to a node")]
            if pod.lifecycle.started(self.age(pod)):
                events.append(("Normal", "Started", f"Started container {pod.lifecycle.base}"))
        return [_event(pod, number, *fields) for number, fields in enumerate(events, start=1)]

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
            if pod.lifecycle.deleted(self.age(pod)):
                del self._pods[key]


def _find_script(spec: Json) -> tuple[str, Script]:
    """Return the container with a script, or the first one with the default script."""
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
