"""What the DAGs do and the tests expect of them; imported by both."""

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
MAPPED_HUNGRY = 1  # the map index that needs more than its features say

# Quick to see what the fake does; all other waiting is the pods' own.
QUICK: Mapping[str, Any] = {
    "namespace": NAMESPACE,
    "image": "none",
    "name": "pod",
    "startup_check_interval_seconds": 1,
    "poll_interval": 0.5,
    "log_pod_spec_on_failure": False,
    "retries": 3,
    "retry_delay": timedelta(seconds=1),
}


# A deferred try must be over in the scheduler's eyes before its trigger fires; otherwise Airflow takes
# the resumption for a crash, and tries again. So these pods run, or wait for a node, for longer than a
# busy scheduler takes for a round.
DEFERRED_SECONDS = 20.0
UNSCHEDULABLE_SECONDS = 3.0  # after which a pod that waits for a node is given up, where a worker waits with it


def need_of(rows: int) -> int:
    """Bytes that so many rows take, in the history and in a run like it."""
    return rows * 2 * MIB


def history() -> list[tuple[dict[str, Any], int]]:
    """Eighty runs whose peak follows from their rows, give or take 3 %."""
    rows = [100 + 10 * (number % 80) for number in range(80)]
    return [({"rows": n}, need_of(n) * (97 + 2 * (i % 4)) // 100) for i, n in enumerate(rows)]


def part(need: str | int = "{{ params.need }}", seconds: float = 0.5, **more: str) -> dict[str, str]:
    """The environment by which a pod is told what to do; the values may be Jinja."""
    words = "".join(f', "{name}": {value}' for name, value in more.items())
    return {SCRIPT_VARIABLE: f'{{"need": {need}, "seconds": {seconds}{words}}}'}


@dataclass(frozen=True)
class Dying:
    """A task whose first try dies, and what must come of it."""

    death: Death
    outcome: str  # what the server is told of the first try
    lifted: bool  # whether the second try gets more memory
    tries: int = 2
    need: int = GIB // 2  # bytes
    message: str = ""  # the termination message, where the peak is told in spite of all

    @property
    def when_short(self) -> bool:
        """It dies for want of memory, so no longer once it has enough."""
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

# Where the trigger, not the worker, sees the end; the others differ in nothing that it looks at.
DYING_DEFERRABLE = ("oom_killed", "evicted", "preempted", "java_heap", "unschedulable")

# The DAG whose runs ended before anybody heard of loadaware, in the folder `past`.
PAST_DAG = "history"


@dataclass(frozen=True)
class PastRun:
    """A run of PAST_DAG: what it was asked, and how each try of its task `work` ended."""

    number: int
    conf: Mapping[str, Any]
    states: tuple[str, ...]

    @property
    def run_id(self) -> str:
        return f"manual__{self.number}"

    @property
    def state(self) -> str:
        """Of the run, as of its last try."""
        return self.states[-1]

    @property
    def need(self) -> int:
        """The peak of each of its tries, in bytes: as in history()."""
        return need_of(int(self.conf.get("rows", 500))) * (97 + 2 * (self.number % 4)) // 100


def past(runs: int) -> list[PastRun]:
    """So many runs: every 40th without conf, every 20th with a first try that failed, every 50th failed for good."""
    found = []
    for number in range(runs):
        conf = {} if number % 40 == 7 else {"rows": 100 + 10 * (number % 80), "note": "of nobody's concern"}
        states = ("failed", "success") if number % 20 == 3 else ("failed",) if number % 50 == 9 else ("success",)
        found.append(PastRun(number, conf, states))
    return found
