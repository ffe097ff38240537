"""In-place resizes of a pod, as the API server validates them and a node carries them out.

    PATCH pods/resize ─▶ wanted ──(the node has capacity)──▶ allocated ──(after a while)──▶ in force
                                └─(it has none)────────▶ condition PodResizePending: Deferred or Infeasible

A node reserves requests, so it always has capacity for a larger limit. It decides about all amounts of a pod at once.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from fake_kubernetes.quantity import cpu_cores, memory_bytes
from fake_kubernetes.script import NodeCapacity, Script

Json = dict[str, Any]

FIRST_VERSION = (1, 33)  # the first version of Kubernetes that has the subresource `resize` by default
FIRST_SHRINKING = (1, 34)  # the first version that lowers a memory limit without a restart of the container
_RESIZABLE = ("cpu", "memory")


class InvalidResizeError(Exception):
    """A resize that the API server rejects with 422."""


@dataclass
class Resizing:
    """The resizes of one pod. Times are seconds since its creation."""

    script: Script
    base: str
    allocated: list[Json]  # the containers' resources that the node reserved
    _changes: list[tuple[float, list[Json]]] = field(default_factory=list)  # (time, resources in force from then on)
    _pending_since: float | None = None

    @classmethod
    def of(cls, spec: Json, base: str, script: Script) -> Resizing:
        resources = resources_of(spec)
        return cls(script, base, resources, [(0.0, resources)])

    def validate(self, old: Json, new: Json, version: tuple[int, int]) -> None:
        """Check a patched spec like the API server. Raises InvalidResizeError."""
        if _without_resources(old) != _without_resources(new):
            raise InvalidResizeError("spec: Forbidden: only cpu and memory resources are mutable")
        if qos_class(old) != qos_class(new):
            raise InvalidResizeError("spec: Invalid value: Pod QOS Class may not change as a result of resizing")
        for before, container in zip(old["containers"], new["containers"], strict=True):
            was, resources = before.get("resources") or {}, container.get("resources") or {}
            for kind in ("requests", "limits"):
                lost = (was.get(kind) or {}).keys() - (resources.get(kind) or {}).keys()
                if lost:
                    raise InvalidResizeError(f"spec.containers.resources.{kind}: resource {kind} cannot be removed")
            for name in _RESIZABLE:
                request, limit = _amount(resources, "requests", name), _amount(resources, "limits", name)
                if request is not None and limit is not None and request > limit:
                    raise InvalidResizeError(f"resources.requests: must be less than or equal to {name} limit")
            old_limit, limit = _amount(was, "limits", "memory"), _amount(resources, "limits", "memory")
            if version < FIRST_SHRINKING and (limit or 0) < (old_limit or 0) and not _restarts(container):
                raise InvalidResizeError("memory limits cannot be decreased unless resizePolicy is RestartContainer")

    def request(self, now: float, spec: Json) -> None:
        self._pending_since = now
        self.settle(now, spec)

    def settle(self, now: float, spec: Json) -> None:
        """Allocate wanted resources for which the node has capacity by now."""
        since, wanted = self._pending_since, resources_of(spec)
        if since is None:
            return
        if self._needs_capacity(wanted) and self.script.capacity is not NodeCapacity.ENOUGH:
            wait = self.script.deferred_seconds
            if self.script.capacity is NodeCapacity.NEVER or wait is None or now < since + wait:
                return
            since += wait
        self._pending_since = None
        self.allocated = wanted
        self._changes.append((since + self.script.resize_seconds, wanted))

    def in_force(self, now: float) -> list[Json]:
        return [resources for since, resources in self._changes if since <= now][-1]

    def times(self) -> list[float]:
        return [since for since, _ in self._changes]

    def conditions(self, now: float) -> list[Json]:
        if self._pending_since is not None:
            never = self.script.capacity is NodeCapacity.NEVER
            reason, message = (
                ("Infeasible", "Node didn't have enough capacity: memory")
                if never
                else ("Deferred", "Node didn't have enough resource: memory")
            )
            return [{"type": "PodResizePending", "status": "True", "reason": reason, "message": message}]
        if self.in_force(now) != self.allocated:
            return [{"type": "PodResizeInProgress", "status": "True"}]
        return []

    def _needs_capacity(self, wanted: list[Json]) -> bool:
        return any(
            (_amount(new, "requests", name) or 0) > (_amount(old, "requests", name) or 0)
            for old, new in zip(self.allocated, wanted, strict=True)
            for name in _RESIZABLE
        )


def resources_of(spec: Json) -> list[Json]:
    return [copy.deepcopy(container.get("resources") or {}) for container in spec["containers"]]


def qos_class(spec: Json) -> str:
    pairs = [
        (_amount(c.get("resources") or {}, "requests", name), _amount(c.get("resources") or {}, "limits", name))
        for c in spec["containers"]
        for name in _RESIZABLE
    ]
    if all(limit is not None and request in (None, limit) for request, limit in pairs):
        return "Guaranteed"
    return "Burstable" if any(request or limit for request, limit in pairs) else "BestEffort"


def _without_resources(spec: Json) -> Json:
    rest = copy.deepcopy(spec)
    for container in rest["containers"]:
        for amounts in (container.get("resources") or {}).values():
            if isinstance(amounts, dict):
                for name in _RESIZABLE:
                    amounts.pop(name, None)
        container["resources"] = {k: v for k, v in (container.get("resources") or {}).items() if v}
    return rest


def _amount(resources: Json, kind: str, name: str) -> float | None:
    quantity = (resources.get(kind) or {}).get(name)
    if quantity is None:
        return None
    return memory_bytes(str(quantity)) if name == "memory" else cpu_cores(str(quantity))


def _restarts(container: Json) -> bool:
    return {"resourceName": "memory", "restartPolicy": "RestartContainer"} in (container.get("resizePolicy") or ())
