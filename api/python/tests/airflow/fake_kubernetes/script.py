"""The script of a pod: how it behaves. An environment variable of the pod contains it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

SCRIPT_VARIABLE = "FAKE_POD"

Json = dict[str, Any]


class Failure(str, Enum):
    """The ways in which a pod fails; with OOM_EXIT_0 it still succeeds."""

    OOM_KILLED = "oom_killed"  # the kernel killed the main process: 137, OOMKilled
    OOM_EXIT_0 = "oom_exit_0"  # the kernel killed a child; the main process continued to the end
    KILLED = "killed"  # 137 with reason Error: a SIGKILL of unknown origin
    EVICTED = "evicted"  # the node was short of memory
    PREEMPTED = "preempted"  # deleted for a pod of higher priority; reads get 404
    FAILED = "failed"  # exit 1, unrelated to memory
    MEMORY_ERROR = "memory_error"  # exit 1, Python's message
    BAD_ALLOC = "bad_alloc"  # exit 1, C++'s message
    JAVA_HEAP = "java_heap"  # exit 1, Java's message
    NODE_HEAP = "node_heap"  # exit 1, Node.js's message
    UNSCHEDULABLE = "unschedulable"  # no node has enough memory; stays Pending
    SIDECAR_OOM = "sidecar_oom"  # another container of the pod was OOM-killed
    INIT_OOM = "init_oom"  # an init container was OOM-killed; the base never started


class NodeCapacity(str, Enum):
    """Whether the node has capacity for larger requests."""

    ENOUGH = "enough"
    LATER = "later"  # resizes to larger requests are Deferred
    NEVER = "never"  # resizes to larger requests are Infeasible


FAILURE_LOGS: Mapping[Failure, tuple[str, ...]] = {
    Failure.FAILED: ("ValueError: no such product",),
    Failure.MEMORY_ERROR: (
        "Traceback (most recent call last):",
        "MemoryError: Unable to allocate 3.1 GiB",
    ),
    Failure.BAD_ALLOC: ("terminate called after throwing an instance of 'std::bad_alloc'",),
    Failure.JAVA_HEAP: ('Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',),
    Failure.NODE_HEAP: ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",),
    Failure.SIDECAR_OOM: ("ConnectionError: the proxy does not answer",),
}


@dataclass(frozen=True)
class Script:
    """A pod's script. The default uses 1 GiB for one second."""

    need: int = 2**30  # bytes; without `memory` and `grows_to`, a need above the memory limit fails
    seconds: float = 1.0  # of run time
    waits: bool = False  # whether the run time starts only when the cluster releases the pod
    fails: Failure | None = None  # independent of memory
    fails_when_short: Failure = Failure.OOM_KILLED  # with neither `memory` nor `grows_to`
    log: tuple[str, ...] = field(default=("hello", "working"))
    message: str | None = None  # termination message; by default the peak, unless killed
    quota: int | None = None  # bytes; a larger limit is rejected with 403
    admission: int | None = None  # bytes; a smaller limit is rejected with 422
    memory: tuple[tuple[float, int], ...] = ()  # (second of the run time, bytes in use from then on); sets `need`
    grows_to: int | None = None  # bytes; the run time starts when this limit is in force; see lifecycle.GROWTH_SECONDS
    deferrals: int = 1  # how often its task is deferred before the tests release a waiting pod
    cores: float = 0.5  # in use
    measured: bool = True  # whether the metrics API shows the pod
    capacity: NodeCapacity = NodeCapacity.ENOUGH
    deferred_seconds: float | None = None  # with LATER, from a resize until the node has capacity; None: never
    resize_seconds: float = 0.2  # until an accepted resize is in force
    resize_refusals: int = 0  # number of resizes, from the first, that the API server rejects
    resize_status: int = 403  # HTTP status of these rejections

    def __post_init__(self) -> None:
        if self.memory:
            object.__setattr__(self, "need", max(used for _, used in self.memory))

    def memory_at(self, seconds: float) -> int:
        if not self.memory:
            return self.need
        return [used for since, used in self.memory if since <= max(0.0, seconds)][-1]

    def failure(self, limit: int | None) -> Failure | None:
        """Return how the pod fails under a memory limit in bytes (None: no limit), or None if it does not."""
        if self.fails is not None:
            return self.fails
        if limit is not None and self.need > limit:
            return self.fails_when_short
        return None

    def to_json(self) -> str:
        return json.dumps(
            {
                "need": self.need,
                "seconds": self.seconds,
                "waits": self.waits,
                "fails": self.fails.value if self.fails else "",
                "fails_when_short": self.fails_when_short.value,
                "log": list(self.log),
                "message": self.message,
                "quota": self.quota,
                "admission": self.admission,
                "memory": self.memory,
                "grows_to": self.grows_to,
                "deferrals": self.deferrals,
                "cores": self.cores,
                "measured": self.measured,
                "capacity": self.capacity.value,
                "deferred_seconds": self.deferred_seconds,
                "resize_seconds": self.resize_seconds,
                "resize_refusals": self.resize_refusals,
                "resize_status": self.resize_status,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Script:
        """Parse a script. A missing field, null and "" mean the default."""
        fields: Json = json.loads(text)
        given: Json = {name: value for name, value in fields.items() if value not in (None, "")}
        for name in ("fails", "fails_when_short"):
            if name in given:
                given[name] = Failure(given[name])
        if "capacity" in given:
            given["capacity"] = NodeCapacity(given["capacity"])
        if "memory" in given:
            given["memory"] = tuple((since, used) for since, used in given["memory"])
        if "log" in given:
            given["log"] = tuple(given["log"])
        return cls(**given)


def script_of(container: Json) -> Script | None:
    for variable in container.get("env") or []:
        if variable.get("name") == SCRIPT_VARIABLE:
            return Script.from_json(variable.get("value") or "{}")
    return None
