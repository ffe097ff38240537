"""The cases that the DAGs run and the tests check; both import this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from fake_kubernetes.script import SCRIPT_VARIABLE, Failure, NodeCapacity, Script

MIB = 2**20
GIB = 2**30

NAMESPACE = "jobs"
STATIC = 8 * GIB  # static request of most tasks that a model sizes
STATIC_SMALL = GIB  # static request of the tasks in FAILURE_CASES
MAPPED_ROWS = (100, 400, 800)  # the feature `rows` of each map index
MAPPED_KILLED = 1  # the map index that needs more than its features say

FAST_POLLING: Mapping[str, Any] = {
    "namespace": NAMESPACE,
    "image": "none",
    "name": "pod",
    "startup_check_interval_seconds": 1,
    "poll_interval": 0.5,
    "log_pod_spec_on_failure": False,
    "retries": 3,
    "retry_delay": timedelta(seconds=1),
}


UNSCHEDULABLE_SECONDS = 3  # launch timeout of a pod without a node


def need_of(rows: int) -> int:
    return rows * 2 * MIB


def training_runs() -> list[tuple[dict[str, Any], int]]:
    """Return 80 runs as (features, peak in bytes); each peak differs from need_of(rows) by at most 3 %."""
    rows = [100 + 10 * (number % 80) for number in range(80)]
    return [({"rows": n}, need_of(n) * (97 + 2 * (i % 4)) // 100) for i, n in enumerate(rows)]


def script_env(
    need: str | int = "{{ params.need }}", *, seconds: float = 0.5, waits: bool = False, **more: str
) -> dict[str, str]:
    """Return the environment variable with a pod's script; values may be Jinja.

    If `waits` is true, the run time of the pod starts only when the cluster releases it.
    """
    fields = "".join(f', "{name}": {value}' for name, value in more.items())
    return {SCRIPT_VARIABLE: f'{{"need": {need}, "seconds": {seconds}, "waits": {str(waits).lower()}{fields}}}'}


@dataclass(frozen=True)
class FailureCase:
    """A task, what happens to its first try, and the expected result."""

    failure: Failure
    outcome: str  # the reported outcome of the first try
    lifted: bool  # whether the second try gets more memory than the first
    tries: int = 2
    need: int = GIB // 2  # bytes
    message: str = ""  # the termination message of each try; "" for the default of Script
    seconds: float = 0.5  # of run time

    @property
    def exceeds_static_request(self) -> bool:
        return self.need > STATIC_SMALL

    def script_env(self, *, waits: bool) -> dict[str, str]:
        if self.exceeds_static_request:
            return script_env(self.need, waits=waits, fails_when_short=f'"{self.failure.value}"')
        on_first_try = f"{{{{ '{self.failure.value}' if ti.try_number == 1 else '' }}}}"
        more = {"fails": f'"{on_first_try}"'}
        if self.message:
            more["message"] = f'"{self.message}"'
        return script_env(self.need, seconds=self.seconds, waits=waits, **more)


ABOVE_STATIC = STATIC_SMALL + 64 * MIB

FAILURE_CASES: Mapping[str, FailureCase] = {
    "oom_killed": FailureCase(Failure.OOM_KILLED, "oom_killed", lifted=True, need=ABOVE_STATIC),
    "oom_exit_0": FailureCase(Failure.OOM_EXIT_0, "success", lifted=False, tries=1, need=ABOVE_STATIC),
    "killed": FailureCase(Failure.KILLED, "killed", lifted=False),
    "killed_at_its_limit": FailureCase(
        Failure.KILLED,
        "oom_killed",
        lifted=True,
        message=f'{{\\"memory_max_bytes\\": {STATIC_SMALL}}}',
    ),
    "evicted": FailureCase(Failure.EVICTED, "evicted", lifted=False),
    # The cluster deletes this pod at its end. On a busy machine, a short pod could be gone before the operator first
    # reads it.
    "preempted": FailureCase(Failure.PREEMPTED, "evicted", lifted=False, seconds=5),
    "failed": FailureCase(Failure.FAILED, "failed", lifted=False),
    "memory_error": FailureCase(Failure.MEMORY_ERROR, "app_oom", lifted=True, need=ABOVE_STATIC),
    "bad_alloc": FailureCase(Failure.BAD_ALLOC, "app_oom", lifted=True, need=ABOVE_STATIC),
    "java_heap": FailureCase(Failure.JAVA_HEAP, "app_oom", lifted=True, need=ABOVE_STATIC),
    "node_heap": FailureCase(Failure.NODE_HEAP, "app_oom", lifted=True, need=ABOVE_STATIC),
    "unschedulable": FailureCase(Failure.UNSCHEDULABLE, "unschedulable", lifted=False),
    "sidecar_oom": FailureCase(Failure.SIDECAR_OOM, "failed", lifted=False),
    "init_oom": FailureCase(Failure.INIT_OOM, "failed", lifted=False),
}

# Cases for deferrable tasks, whose trigger sees the end of the pod. To the trigger, each of the other cases looks like
# one of these.
FAILURE_CASES_DEFERRABLE = ("oom_killed", "evicted", "preempted", "java_heap", "unschedulable")

# The pipeline of a campaign, and the DAGs that reproduce its runs.
CAMPAIGN_DAG, CAMPAIGN_SCHEDULER, CAMPAIGN_MAINTAINER = "campaign", "campaign_scheduler", "campaign_maintainer"
CAMPAIGN_TASKS = ("load", "price")

# The DAG in the folder `history`. Its runs ended before loadaware was installed.
HISTORY_DAG = "history"


@dataclass(frozen=True)
class HistoryRun:
    """A run of HISTORY_DAG: its conf, and the state of each try of its task `work`."""

    number: int
    conf: Mapping[str, Any]
    states: tuple[str, ...]

    @property
    def run_id(self) -> str:
        return f"manual__{self.number}"

    @property
    def state(self) -> str:
        return self.states[-1]

    @property
    def need(self) -> int:
        """The peak of each try in bytes, with the noise of training_runs()."""
        return need_of(int(self.conf.get("rows", 500))) * (97 + 2 * (self.number % 4)) // 100


def history_runs(count: int) -> list[HistoryRun]:
    """Return runs: one in 40 without conf, one in 20 with a failed first try, one in 50 failed."""
    generated = []
    for number in range(count):
        conf = {} if number % 40 == 7 else {"rows": 100 + 10 * (number % 80), "note": "not a feature"}
        states = ("failed", "success") if number % 20 == 3 else ("failed",) if number % 50 == 9 else ("success",)
        generated.append(HistoryRun(number, conf, states))
    return generated


# Memory limits of a plan in bytes: at the start, after it has grown, and of the static grant.
PHASED_START, PHASED_GROWN, PHASED_STATIC = 256 * MIB, 512 * MIB, GIB


@dataclass(frozen=True)
class PhasedCase:
    """A task with a plan, whose pod ends half a second after the limit `grows_to` is in force."""

    grows_to: int
    deferrable: bool = False
    capacity: NodeCapacity = NodeCapacity.ENOUGH
    refusals: int = 0  # number of resizes, from the first, that Kubernetes refuses
    status: int = 403  # HTTP status of a refusal
    outage: bool = False  # POST /phase is not answered
    fallback: str = ""  # expected in the reason for the return to the static grant; "" without such a return
    deferrals: int = 1  # of the task, if it is deferrable

    def script_env(self) -> dict[str, str]:
        script = Script(
            need=PHASED_START // 2,
            seconds=0.5,
            waits=self.deferrable,
            grows_to=self.grows_to,
            deferrals=self.deferrals,
            capacity=self.capacity,
            resize_refusals=self.refusals,
            resize_status=self.status,
        )
        return {SCRIPT_VARIABLE: script.to_json()}


# A task id begins with the mode of its plan.
PHASED_CASES: Mapping[str, PhasedCase] = {
    "memory_grows": PhasedCase(PHASED_GROWN),
    "memory_grows_deferrable": PhasedCase(PHASED_GROWN, deferrable=True),
    "memory_deferred": PhasedCase(PHASED_STATIC, capacity=NodeCapacity.LATER, fallback="Deferred"),
    "memory_deferred_deferrable": PhasedCase(
        PHASED_STATIC, deferrable=True, capacity=NodeCapacity.LATER, fallback="Deferred"
    ),
    "memory_infeasible": PhasedCase(PHASED_STATIC, capacity=NodeCapacity.NEVER, fallback="Infeasible"),
    "memory_infeasible_deferrable": PhasedCase(
        PHASED_STATIC, deferrable=True, capacity=NodeCapacity.NEVER, fallback="Infeasible"
    ),
    # The first two refusals are those of the CPU request and of the limit.
    "memory_refused": PhasedCase(PHASED_STATIC, refusals=2, fallback="403"),
    "memory_unsupported": PhasedCase(PHASED_STATIC, refusals=2, status=405, fallback="405"),
    # Here Kubernetes also refuses the trigger's return to the static grant, so a worker sets it.
    "memory_refused_deferrable": PhasedCase(PHASED_STATIC, deferrable=True, refusals=3, fallback="403", deferrals=2),
    "memory_outage": PhasedCase(PHASED_STATIC, outage=True, fallback="/phase"),
    "memory_outage_deferrable": PhasedCase(PHASED_STATIC, deferrable=True, outage=True, fallback="/phase"),
    "cpu_grows": PhasedCase(PHASED_STATIC),
    "observe_grows_deferrable": PhasedCase(PHASED_STATIC, deferrable=True),
}
