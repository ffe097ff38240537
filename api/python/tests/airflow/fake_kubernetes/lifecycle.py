"""A pod's status at an age, as a pure function of spec, script and time.

0 ── creating ──▶ STARTUP ── running ──▶ STARTUP + seconds ── ended ──▶
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from fake_kubernetes.quantity import memory_bytes
from fake_kubernetes.script import LAST_WORDS, Death, Script

Json = dict[str, Any]

STARTUP = 0.2  # seconds between creation and the first process

_EXIT_ONE = {
    Death.FAILED,
    Death.MEMORY_ERROR,
    Death.BAD_ALLOC,
    Death.JAVA_HEAP,
    Death.NODE_HEAP,
    Death.SIDECAR_OOM,
}


def rfc3339(moment: datetime) -> str:
    """Format a time like Kubernetes: UTC, whole seconds."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Life:
    """One pod's spec, script and creation time."""

    spec: Json
    base: str  # name of the container that has the script
    script: Script
    born: datetime

    def limit(self) -> int | None:
        """Return the memory limit of the base container in bytes, or None."""
        for container in self.spec["containers"]:
            if container["name"] == self.base:
                limits = (container.get("resources") or {}).get("limits") or {}
                return memory_bytes(str(limits["memory"])) if "memory" in limits else None
        return None

    def death(self) -> Death | None:
        return self.script.death(self.limit())

    def ended(self, age: float) -> bool:
        if self.death() is Death.UNSCHEDULABLE:
            return False
        return age >= STARTUP + (0 if self.death() is Death.INIT_OOM else self.script.seconds)

    def gone(self, age: float) -> bool:
        """Return whether the cluster deleted the pod."""
        return self.death() is Death.PREEMPTED and self.ended(age)

    def started(self, age: float) -> bool:
        return age >= STARTUP and self.death() not in (Death.UNSCHEDULABLE, Death.INIT_OOM)

    def phase(self, age: float) -> str:
        if self.ended(age):
            well = self.death() in (None, Death.OOM_EXIT_0)
            return "Succeeded" if well else "Failed"
        return "Running" if self.started(age) else "Pending"

    def status(self, age: float) -> Json:
        """Return the pod's `status` at an age in seconds."""
        status: Json = {"phase": self.phase(age), "conditions": [self._scheduled()]}
        if self.death() is Death.UNSCHEDULABLE:
            return status
        status["startTime"] = rfc3339(self.born)
        status["hostIP"] = status["podIP"] = "127.0.0.1"
        if self.death() is Death.EVICTED and self.ended(age):
            status["reason"] = "Evicted"
            status["message"] = "The node was low on resource: memory."
        status["containerStatuses"] = [self._container(container, age) for container in self.spec["containers"]]
        if self.spec.get("initContainers"):
            status["initContainerStatuses"] = [
                _named(container, self._init_state(age)) for container in self.spec["initContainers"]
            ]
        return status

    def log(self, age: float) -> list[str]:
        """Return the log lines of the base container so far."""
        if not self.started(age):
            return []
        death = self.death()
        lines = list(self.script.log)
        if self.ended(age) and death is not None:
            lines += LAST_WORDS.get(death, ())
        return lines

    def _scheduled(self) -> Json:
        if self.death() is not Death.UNSCHEDULABLE:
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
        if not self.started(age):
            waiting = "PodInitializing" if self.spec.get("initContainers") else "ContainerCreating"
            return {"waiting": {"reason": waiting}}
        if not self.ended(age):
            return {"running": {"startedAt": rfc3339(self.born + timedelta(seconds=STARTUP))}}
        if name == self.base:
            return self._terminated(*self._base_ending())
        if self.death() is Death.SIDECAR_OOM:
            return self._terminated("OOMKilled", 137, "")
        return self._terminated("Completed", 0, "")

    def _init_state(self, age: float) -> Json:
        if age < STARTUP:
            return {"running": {"startedAt": rfc3339(self.born)}}
        if self.death() is Death.INIT_OOM:
            return self._terminated("OOMKilled", 137, "")
        return self._terminated("Completed", 0, "")

    def _base_ending(self) -> tuple[str, int, str]:
        """Return reason, exit code and termination message of the base container."""
        death = self.death()
        if death in (Death.OOM_KILLED, Death.KILLED, Death.EVICTED):
            reason = "OOMKilled" if death is Death.OOM_KILLED else "Error"
            return reason, 137, self.script.message or ""  # a killed program writes no message
        message = self.script.message
        if message is None:
            message = json.dumps({"memory_max_bytes": min(self.script.need, self.limit() or 2**62)})
        if death is Death.OOM_EXIT_0:
            return "OOMKilled", 0, message
        return ("Error", 1, message) if death in _EXIT_ONE else ("Completed", 0, message)

    def _terminated(self, reason: str, code: int, message: str) -> Json:
        begun = self.born + timedelta(seconds=STARTUP)
        state: Json = {
            "reason": reason,
            "exitCode": code,
            "startedAt": rfc3339(begun),
            "finishedAt": rfc3339(begun + timedelta(seconds=self.script.seconds)),
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
