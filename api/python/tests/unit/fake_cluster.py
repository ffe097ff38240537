"""A cluster and a server for a resize controller, in simulated time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow_provider_loadaware.plan import Plan
from airflow_provider_loadaware.pod_state import Resources
from airflow_provider_loadaware.resize_control import Controller
from airflow_provider_loadaware.resize_requests import Ask, Execution, Failure, ReadPod, ReadUsage, Resize, Sleep

MIB = 1 << 20
EPOCH = datetime(2024, 1, 1, tzinfo=timezone.utc)
KEY = {"dag_id": "d", "task_id": "t", "run_id": "r", "map_index": -1, "try_number": 1}
PLAN = Plan(
    version=3,
    mode="memory",
    start_bytes=200 * MIB,
    static_bytes=1000 * MIB,
    request_share=1.0,
    poll_seconds=5,
    reaction_seconds=10,
    start_cpu=500,
    static_cpu=2000,
)


@dataclass
class Simulation:
    """Answers the requests of a controller. All times are seconds since the start of the program.

    `usage` returns the bytes in use at a time, and the program ends at `ends_at`. `answer` answers POST /phase.
    `pending_reason` returns the reason of PodResizePending for wanted resources and resources in force, or None if
    the node accepts them. At a given time, `refuse` returns the failure of a resize, `metrics` that of the metrics API,
    and `api` that of any request to Kubernetes; None means success.
    """

    usage: Callable[[float], int]
    answer: Callable[[dict[str, Any]], Any]
    plan: Plan = PLAN
    ends_at: float = 300.0
    pending_reason: Callable[[Resources, Resources], str | None] = lambda wanted, in_force: None
    refuse: Callable[[Resources, float], Failure | None] = lambda wanted, now: None
    metrics: Callable[[float], Failure | None] = lambda now: None
    api: Callable[[float], Failure | None] = lambda now: None
    delay: float = 3.0  # seconds until an accepted resize is in force
    can_hand_over: bool = False  # if the static limit is refused for good, another process sets it (see Resizes)
    now: float = 0.0
    wanted: Resources = field(default_factory=Resources)
    in_force: Resources = field(default_factory=Resources)
    patches: list[tuple[float, Resources]] = field(default_factory=list)  # times and resources of all resizes
    phase_requests: list[dict[str, Any]] = field(default_factory=list)
    killed: bool = False
    _due: list[tuple[float, Resources]] = field(default_factory=list)  # accepted resizes: when they apply, resources

    def __post_init__(self) -> None:
        memory = self.plan.start_bytes if self.plan.resizes_memory else self.plan.static_bytes
        cpu = self.plan.start_cpu if self.plan.resizes_cpu else self.plan.static_cpu
        self.wanted = self.in_force = Resources(memory, self.plan.request_of(memory), cpu)

    def controller(self, log: Any) -> Controller:
        def clock() -> datetime:
            return EPOCH + timedelta(seconds=self.now)

        return Controller(self.plan, "base", KEY, log, can_hand_over=self.can_hand_over, now=clock)

    def run(self, log: Any, until: float = 10_000.0) -> Execution:
        controller = self.controller(log)
        return self.drive(controller, controller.run(), until)

    def drive(self, controller: Controller, requests: Any, until: float = 10_000.0) -> Execution:
        result: Any = None
        while self.now < until:
            try:
                request = requests.send(result)
            except StopIteration as done:
                assert done.value is controller.execution
                break
            result = self._perform(request)
        return controller.execution

    def _perform(self, request: Any) -> Any:
        if isinstance(request, Sleep):
            for _ in range(int(request.seconds * 10)):
                self._advance(0.1)
            return None
        failure = self.api(self.now)
        if failure is not None and not isinstance(request, Ask):
            return failure
        if isinstance(request, ReadPod):
            return self.pod()
        if isinstance(request, ReadUsage):
            return self.metrics(self.now) or self._metrics()
        if isinstance(request, Ask):
            self.phase_requests.append(request.body)
            return self.answer(request.body)
        assert isinstance(request, Resize)
        return self._patch(request.body)

    def _advance(self, seconds: float) -> None:
        self.now += seconds
        for due, resources in list(self._due):
            if due <= self.now:
                self.in_force = resources
                self._due.remove((due, resources))
        if self.now < self.ends_at and self.in_force.limit is not None and self.usage(self.now) > self.in_force.limit:
            self.killed, self.ends_at = True, self.now

    def _patch(self, body: dict[str, Any]) -> Any:
        (container,) = body["spec"]["containers"]
        change = Resources.of(container["resources"])
        old = self.wanted
        wanted = Resources(change.limit or old.limit, change.request or old.request, change.cpu or old.cpu)
        self.patches.append((round(self.now, 1), wanted))
        assert (wanted.limit or 0) >= (old.limit or 0), "the limit shrank"
        assert (wanted.request or 0) <= (wanted.limit or 0), "the request is above the limit"
        refused = self.refuse(wanted, self.now)
        if refused is not None:
            return refused
        self.wanted = wanted
        self._due.clear()
        if self.pending_reason(wanted, self.in_force) is None:
            self._due.append((self.now + self.delay, wanted))
        return {}

    def pod(self) -> dict[str, Any]:
        pending = self.pending_reason(self.wanted, self.in_force) if self.wanted != self.in_force else None
        condition = {"type": "PodResizePending", "status": "True", "reason": pending, "message": "no capacity"}
        name = "terminated" if self.now >= self.ends_at else "running"
        state = {name: {"startedAt": EPOCH.isoformat().replace("+00:00", "Z")}}
        return {
            "spec": {"containers": [{"name": "sidecar"}, {"name": "base", "resources": _resources(self.wanted)}]},
            "status": {
                "phase": "Running",
                "conditions": [condition] if pending else [],
                "containerStatuses": [{"name": "base", "state": state, "resources": _resources(self.in_force)}],
            },
        }

    def _metrics(self) -> dict[str, Any]:
        at = (EPOCH + timedelta(seconds=self.now)).isoformat().replace("+00:00", "Z")
        usage = {"memory": str(self.usage(self.now)), "cpu": "750000000n"}
        return {"timestamp": at, "containers": [{"name": "base", "usage": usage}]}


def _resources(found: Resources) -> dict[str, Any]:
    requests = {"memory": str(found.request), **({"cpu": f"{found.cpu}m"} if found.cpu else {})}
    return {"limits": {"memory": str(found.limit)}, "requests": requests}


def phase_answer(memory: int, by: float, again: float = 5.0, cpu: int | None = None, **more: Any) -> dict[str, Any]:
    answer = {"mode": "memory", "version": 3, "phase": 1, "next": [], "memory_bytes": memory, "by_seconds": by}
    return {**answer, "ask_again_seconds": again, "cpu_millicores": cpu, "reason": "it grows", **more}
