"""The Airflow Variables that a trial changes while it runs, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone

from harness.deployment import Airflow

RUNS = "loadaware_campaign_runs"
INTERVAL = "loadaware_campaign_interval_seconds"
SLOW = 3  # the longest of INTERVALS, in ticks

# Each pair is a share of the pods that the campaign creates, and the value that applies once this share is created. The
# parallelism 0 starts no run; it stays for PAUSE_TICKS. A tick is the time between two runs of the scheduler DAG. The
# values of INTERVALS, the times between two passes that claim runs, are in ticks.
PARALLELISM = ((0.0, 2), (0.03, 6), (0.45, 0), (0.45, 1), (0.47, 8), (0.9, 5))
INTERVALS = ((0.0, 1), (0.6, SLOW), (0.7, 1))
PAUSE_TICKS = 4


@dataclass
class Change:
    """A value of a Variable from a time on."""

    at: datetime
    value: int


@dataclass
class Settings:
    """The Variables of a trial and their changes so far, oldest first."""

    airflow: Airflow
    tick: int  # seconds
    changes: dict[str, list[Change]] = field(default_factory=lambda: {RUNS: [], INTERVAL: []})

    def __post_init__(self) -> None:
        self._plans = {
            RUNS: list(PARALLELISM),
            INTERVAL: [(share, ticks * self.tick) for share, ticks in INTERVALS],
        }
        self.airflow.set_variable("loadaware_campaign_deployments", 8)
        self.apply(0.0)

    def apply(self, share: float) -> None:
        """Set the next value of each Variable if it is due. `share` is the share of the pods that have been created."""
        for name, plan in self._plans.items():
            if plan and share >= plan[0][0] and not self._is_pausing(name):
                value = plan.pop(0)[1]
                self.airflow.set_variable(name, value)
                self.changes[name].append(Change(datetime.now(timezone.utc), value))

    def between(self, name: str, start: datetime, end: datetime) -> set[int]:
        changes = self.changes[name]
        ends = [change.at for change in changes[1:]] + [datetime.max.replace(tzinfo=timezone.utc)]
        return {c.value for c, until in zip(changes, ends, strict=True) if c.at <= end and until >= start}

    def _is_pausing(self, name: str) -> bool:
        newest = self.changes[name][-1:]
        paused_for = (datetime.now(timezone.utc) - newest[0].at).total_seconds() if newest else 0
        return bool(newest) and newest[0].value == 0 and paused_for < PAUSE_TICKS * self.tick
