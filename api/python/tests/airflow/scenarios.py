"""Scenarios that the DAGs run and the tests check; both import this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from fake_kubernetes.script import SCRIPT_VARIABLE, Death

MIB = 2**20
GIB = 2**30

NAMESPACE = "jobs"
STATIC = 8 * GIB  # of all DAGs that are sized from a history
STATIC_SMALL = GIB  # of the tasks that die
MAPPED_ROWS = (100, 400, 800)  # features of the map indexes
MAPPED_KILLED = 1  # the map index that needs more than its features say

# Poll the fake cluster often.
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


# The scheduler must process a deferral before the trigger fires; otherwise Airflow treats the resumption as
# a crash and retries. So these pods run, or wait for a node, longer than a scheduler loop takes.
DEFERRED_SECONDS = 20.0
UNSCHEDULABLE_SECONDS = 3.0  # launch timeout of a pod without a node, for tasks that are not deferrable


def need_of(rows: int) -> int:
    """Return the bytes that a number of rows needs, in the history and in the runs."""
    return rows * 2 * MIB


def history() -> list[tuple[dict[str, Any], int]]:
    """Return 80 runs whose peak depends on their rows, within 3 %."""
    rows = [100 + 10 * (number % 80) for number in range(80)]
    return [({"rows": n}, need_of(n) * (97 + 2 * (i % 4)) // 100) for i, n in enumerate(rows)]


def part(need: str | int = "{{ params.need }}", seconds: float = 0.5, **more: str) -> dict[str, str]:
    """Return the environment that contains a pod's script; values may be Jinja."""
    words = "".join(f', "{name}": {value}' for name, value in more.items())
    return {SCRIPT_VARIABLE: f'{{"need": {need}, "seconds": {seconds}{words}}}'}


@dataclass(frozen=True)
class Dying:
    """A task whose first try fails, and the expected result."""

    death: Death
    outcome: str  # the reported outcome of the first try
    lifted: bool  # whether the second try gets more memory
    tries: int = 2
    need: int = GIB // 2  # bytes
    message: str = ""  # the termination message, if it contains the peak despite the kill

    @property
    def when_short(self) -> bool:
        """Whether it fails from a lack of memory, and succeeds with enough."""
        return self.need > STATIC_SMALL

    def part(self, seconds: float) -> dict[str, str]:
        if self.when_short:
            return part(self.need, seconds, dies_when_short=f'"{self.death.value}"')
        first = f"{{{{ '{self.death.value}' if ti.try_number == 1 else '' }}}}"
        more = {"dies": f'"{first}"'}
        if self.message:
            more["message"] = f'"{self.message}"'
        return part(self.need, seconds, **more)


SHORT = STATIC_SMALL + 64 * MIB  # a need that the static request does not meet

DYING: Mapping[str, Dying] = {
    "oom_killed": Dying(Death.OOM_KILLED, "oom_killed", lifted=True, need=SHORT),
    "oom_exit_0": Dying(Death.OOM_EXIT_0, "success", lifted=False, tries=1, need=SHORT),
    "killed": Dying(Death.KILLED, "killed", lifted=False),
    "killed_at_its_limit": Dying(
        Death.KILLED,
        "oom_killed",
        lifted=True,
        message=f'{{\\"memory_max_bytes\\": {STATIC_SMALL}}}',
    ),
    "evicted": Dying(Death.EVICTED, "evicted", lifted=False),
    "preempted": Dying(Death.PREEMPTED, "evicted", lifted=False),
    "failed": Dying(Death.FAILED, "failed", lifted=False),
    "memory_error": Dying(Death.MEMORY_ERROR, "app_oom", lifted=True, need=SHORT),
    "bad_alloc": Dying(Death.BAD_ALLOC, "app_oom", lifted=True, need=SHORT),
    "java_heap": Dying(Death.JAVA_HEAP, "app_oom", lifted=True, need=SHORT),
    "node_heap": Dying(Death.NODE_HEAP, "app_oom", lifted=True, need=SHORT),
    "unschedulable": Dying(Death.UNSCHEDULABLE, "unschedulable", lifted=False),
    "sidecar_oom": Dying(Death.SIDECAR_OOM, "failed", lifted=False),
    "init_oom": Dying(Death.INIT_OOM, "failed", lifted=False),
}

# Here the trigger sees the end of the pod; the other cases look the same to it.
DYING_DEFERRABLE = ("oom_killed", "evicted", "preempted", "java_heap", "unschedulable")

# The DAG whose runs ended before loadaware was installed, in the folder `past`.
PAST_DAG = "history"


@dataclass(frozen=True)
class PastRun:
    """A run of PAST_DAG: its conf, and the state of each try of its task `work`."""

    number: int
    conf: Mapping[str, Any]
    states: tuple[str, ...]

    @property
    def run_id(self) -> str:
        return f"manual__{self.number}"

    @property
    def state(self) -> str:
        """The state of the run, which is that of its last try."""
        return self.states[-1]

    @property
    def need(self) -> int:
        """The peak of each of its tries in bytes, as in history()."""
        return need_of(int(self.conf.get("rows", 500))) * (97 + 2 * (self.number % 4)) // 100


def past(runs: int) -> list[PastRun]:
    """Return runs: every 40th without conf, every 20th with a failed first try, every 50th failed."""
    found = []
    for number in range(runs):
        conf = {} if number % 40 == 7 else {"rows": 100 + 10 * (number % 80), "note": "not a feature"}
        states = ("failed", "success") if number % 20 == 3 else ("failed",) if number % 50 == 9 else ("success",)
        found.append(PastRun(number, conf, states))
    return found
