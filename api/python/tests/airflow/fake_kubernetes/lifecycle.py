"""The status of a pod, computed from its spec, its script, its limits in force and its age.

0 ── creating ──▶ STARTUP ── running ──▶ STARTUP + seconds ── ended ──▶

A pod with Script.grows_to runs for `seconds` from the time at which its limit has reached `grows_to`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from fake_kubernetes.quantity import memory_bytes
from fake_kubernetes.script import FAILURE_LOGS, Failure, Script

Json = dict[str, Any]

STARTUP = 0.2  # seconds between creation and the first process
GROWTH_SECONDS = 120.0  # from STARTUP; a pod whose limit has not reached Script.grows_to by then is killed

_EXIT_ONE = {
    Failure.FAILED,
    Failure.MEMORY_ERROR,
    Failure.BAD_ALLOC,
    Failure.JAVA_HEAP,
    Failure.NODE_HEAP,
    Failure.SIDECAR_OOM,
}


def rfc3339(moment: datetime) -> str:
    """Format a time like Kubernetes: UTC, whole seconds."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Lifecycle:
    """Computes the status of one pod. An age is in seconds (see Cluster.age)."""

    spec: Json
    base: str  # name of the container that has the script, or else of the first
    script: Script
    created_at: datetime
    limit_at: Callable[[float], int | None] | None = None  # memory limit in force at an age; the spec's if omitted
    grown_at: Callable[[], float | None] = lambda: STARTUP  # age at which the limit reached `grows_to`; None before

    def limit(self) -> int | None:
        for container in self.spec["containers"]:
            if container["name"] == self.base:
                limits = (container.get("resources") or {}).get("limits") or {}
                return memory_bytes(str(limits["memory"])) if "memory" in limits else None
        return None

    def failure(self) -> Failure | None:
        """Return how the pod fails, or None. If its memory or limit changes, `killed_at` finds an OOM kill."""
        is_fixed = not self.script.memory and self.script.grows_to is None
        return self.script.failure(self.limit()) if is_fixed else self.script.fails

    def killed_at(self, age: float) -> float | None:
        """Return the age of the OOM kill of a pod whose memory or limit changes, or None if it has not happened."""
        for since, used in self.script.memory:
            at = STARTUP + since
            limit = self.limit_at(at) if self.limit_at else self.limit()
            if at <= age and since < self.script.seconds and limit is not None and used > limit:
                return at
        if self.script.grows_to is not None and age >= STARTUP + GROWTH_SECONDS and self.grown_at() is None:
            return STARTUP + GROWTH_SECONDS
        return None

    def failure_at(self, age: float) -> Failure | None:
        """Return how the pod fails, as known at an age: OOM_KILLED from `killed_at` on."""
        return self.failure() if self.killed_at(age) is None else Failure.OOM_KILLED

    def has_ended(self, age: float) -> bool:
        if self.failure() is Failure.UNSCHEDULABLE:
            return False
        if self.killed_at(age) is not None:
            return True
        if self.failure() is Failure.INIT_OOM:
            return age >= STARTUP
        grown_at = self.grown_at()
        return grown_at is not None and age >= max(STARTUP, grown_at) + self.script.seconds

    def is_deleted(self, age: float) -> bool:
        return self.failure() is Failure.PREEMPTED and self.has_ended(age)

    def has_started(self, age: float) -> bool:
        return age >= STARTUP and self.failure() not in (Failure.UNSCHEDULABLE, Failure.INIT_OOM)

    def phase(self, age: float) -> str:
        if self.has_ended(age):
            succeeded = self.failure_at(age) in (None, Failure.OOM_EXIT_0)
            return "Succeeded" if succeeded else "Failed"
        return "Running" if self.has_started(age) else "Pending"

    def status(self, age: float) -> Json:
        status: Json = {"phase": self.phase(age), "conditions": [self._scheduled()]}
        if self.failure() is Failure.UNSCHEDULABLE:
            return status
        status["startTime"] = rfc3339(self.created_at)
        status["hostIP"] = status["podIP"] = "127.0.0.1"
        if self.failure() is Failure.EVICTED and self.has_ended(age):
            status["reason"] = "Evicted"
            status["message"] = "The node was low on resource: memory."
        status["containerStatuses"] = [self._container(container, age) for container in self.spec["containers"]]
        if self.spec.get("initContainers"):
            status["initContainerStatuses"] = [
                _named(container, self._init_state(age)) for container in self.spec["initContainers"]
            ]
        return status

    def log(self, age: float) -> list[str]:
        if not self.has_started(age):
            return []
        failure = self.failure_at(age)
        lines = list(self.script.log)
        if self.has_ended(age) and failure is not None:
            lines += FAILURE_LOGS.get(failure, ())
        return lines

    def _scheduled(self) -> Json:
        if self.failure() is not Failure.UNSCHEDULABLE:
            return {"type": "PodScheduled", "status": "True"}
        return {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 Insufficient memory.",
        }

    def _container(self, container: Json, age: float) -> Json:
        return _named(container, self._state(container["name"], age))

    def _state(self, name: str, age: float) -> Json:
        if not self.has_started(age):
            waiting = "PodInitializing" if self.spec.get("initContainers") else "ContainerCreating"
            return {"waiting": {"reason": waiting}}
        if not self.has_ended(age):
            return {"running": {"startedAt": rfc3339(self.created_at + timedelta(seconds=STARTUP))}}
        if name == self.base:
            return self._terminated(*self._base_termination(age), self.killed_at(age))
        if self.failure() is Failure.SIDECAR_OOM:
            return self._terminated("OOMKilled", 137, "")
        return self._terminated("Completed", 0, "")

    def _init_state(self, age: float) -> Json:
        if age < STARTUP:
            return {"running": {"startedAt": rfc3339(self.created_at)}}
        if self.failure() is Failure.INIT_OOM:
            return self._terminated("OOMKilled", 137, "")
        return self._terminated("Completed", 0, "")

    def _base_termination(self, age: float) -> tuple[str, int, str]:
        """Return reason, exit code and termination message of the base container."""
        failure = self.failure_at(age)
        if failure in (Failure.OOM_KILLED, Failure.KILLED, Failure.EVICTED):
            reason = "OOMKilled" if failure is Failure.OOM_KILLED else "Error"
            return reason, 137, self.script.message or ""  # a killed program does not report its peak
        message = self.script.message
        if message is None:
            message = json.dumps({"memory_max_bytes": min(self.script.need, self.limit() or 2**62)})
        if failure is Failure.OOM_EXIT_0:
            return "OOMKilled", 0, message
        return ("Error", 1, message) if failure in _EXIT_ONE else ("Completed", 0, message)

    def _terminated(self, reason: str, code: int, message: str, killed_at: float | None = None) -> Json:
        started = self.created_at + timedelta(seconds=STARTUP)
        seconds = self.script.seconds if killed_at is None else killed_at - STARTUP
        state: Json = {
            "reason": reason,
            "exitCode": code,
            "startedAt": rfc3339(started),
            "finishedAt": rfc3339(started + timedelta(seconds=seconds)),
        }
        if message:
            state["message"] = message
        return {"terminated": state}


def _named(container: Json, state: Json) -> Json:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": "running" in state,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
