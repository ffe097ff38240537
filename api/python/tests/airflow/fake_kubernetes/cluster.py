"""The pods that there are and were, and what is said of them."""

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
from fake_kubernetes.lifecycle import Life, rfc3339
from fake_kubernetes.script import Death, Script, script_of

Json = dict[str, Any]


class RefusedError(Exception):
    """An answer other than 2xx: status, reason and message of a Kubernetes Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


@dataclass
class Pod:
    """One pod, as it was asked for and as it goes."""

    manifest: Json
    life: Life
    born: float  # on the cluster's clock, in seconds

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
        return next(c for c in self.manifest["spec"]["containers"] if c["name"] == self.life.base)

    @property
    def memory_limit(self) -> int | None:
        """Bytes that the base container may use."""
        return self.life.limit()


@dataclass
class Cluster:
    """Pods by namespace and name. Safe for threads; its clock may be replaced."""

    clock: Callable[[], float] = time.monotonic
    history: list[Pod] = field(default_factory=list)  # all that were ever created, in order
    refusals: list[RefusedError] = field(default_factory=list)  # of creations, in order
    _alive: dict[tuple[str, str], Pod] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def create(self, namespace: str, manifest: Json) -> Json:
        manifest = copy.deepcopy(manifest)
        spec = manifest.setdefault("spec", {})
        if not spec.get("containers"):
            raise RefusedError(422, "Invalid", "spec.containers: Required value")
        base, script = _part(spec)
        life = Life(spec, base, script, datetime.now(timezone.utc))
        meta = manifest.setdefault("metadata", {})
        meta["namespace"] = namespace
        meta.setdefault("name", meta.pop("generateName", "pod-") + uuid.uuid4().hex[:8])
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = rfc3339(life.born)
        pod = Pod(manifest, life, self.clock())
        with self._lock:
            self._admit(pod)
            if (namespace, pod.name) in self._alive:
                raise RefusedError(409, "AlreadyExists", f'pods "{pod.name}" already exists')
            self._alive[namespace, pod.name] = pod
            self.history.append(pod)
        return self.render(pod)

    def get(self, namespace: str, name: str) -> Pod:
        with self._lock:
            self._forget_the_preempted()
            pod = self._alive.get((namespace, name))
        if pod is None:
            raise RefusedError(404, "NotFound", f'pods "{name}" not found')
        return pod

    def find(self, namespace: str, selector: str = "") -> list[Pod]:
        with self._lock:
            self._forget_the_preempted()
            pods = [pod for pod in self._alive.values() if pod.namespace == namespace]
        return [pod for pod in pods if matches(selector, pod.labels)]

    def patch(self, namespace: str, name: str, change: Json) -> Json:
        pod = self.get(namespace, name)
        with self._lock:
            _merge(pod.manifest, change)
        return self.render(pod)

    def delete(self, namespace: str, name: str) -> Json:
        pod = self.get(namespace, name)
        with self._lock:
            self._alive.pop((namespace, name), None)
        return self.render(pod)

    def age(self, pod: Pod) -> float:
        return self.clock() - pod.born

    def render(self, pod: Pod) -> Json:
        """The pod as the API answers it."""
        with self._lock:
            manifest = copy.deepcopy(pod.manifest)
        return {
            **manifest,
            "apiVersion": "v1",
            "kind": "Pod",
            "status": pod.life.status(self.age(pod)),
        }

    def events(self, namespace: str, name: str) -> list[Json]:
        """What the scheduler and the node said of a pod so far, oldest first."""
        pod = self.get(namespace, name)
        if pod.life.death() is Death.UNSCHEDULABLE:
            said = [("Warning", "FailedScheduling", "0/3 nodes are available: 3 Insufficient memory.")]
        else:
            said = [("Normal", "Scheduled", f"Successfully assigned {namespace}/{name} to a node")]
            if pod.life.started(self.age(pod)):
                said.append(("Normal", "Started", f"Started container {pod.life.base}"))
        return [_event(pod, number, *words) for number, words in enumerate(said, start=1)]

    def _admit(self, pod: Pod) -> None:
        script, limit = pod.life.script, pod.memory_limit or 0
        refused: RefusedError | None = None
        if script.quota is not None and limit > script.quota:
            refused = RefusedError(403, "Forbidden", f'pods "{pod.name}" is forbidden: exceeded quota: memory')
        elif script.admission is not None and limit < script.admission:
            refused = RefusedError(422, "Invalid", f'Pod "{pod.name}" is invalid: memory is below the minimum')
        if refused is not None:
            self.refusals.append(refused)
            raise refused

    def _forget_the_preempted(self) -> None:
        for key, pod in list(self._alive.items()):
            if pod.life.gone(self.age(pod)):
                del self._alive[key]


def _part(spec: Json) -> tuple[str, Script]:
    """The container that plays a part, or the first one with the default part."""
    for container in spec["containers"]:
        script = script_of(container)
        if script is not None:
            return str(container["name"]), script
    return str(spec["containers"][0]["name"]), Script()


def _merge(into: Json, change: Json) -> None:
    """JSON merge patch (RFC 7396)."""
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
