"""Kills of the service, its PostgreSQL and Airflow's scheduler at random points of a campaign."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.deployment import Airflow
from harness.loadaware import Loadaware

VICTIMS = ("service", "scheduler", "postgres")
LAST_SHARE = 0.95  # of the pods; a kill after the last pod would interrupt no work


@dataclass
class Crashes:
    """The kills of a trial: each is due when a random number of pods has been created.

    The number of pods, unlike the time, does not depend on the load of the machine.
    """

    server: Loadaware
    airflow: Airflow
    pods: int  # number of pods of the whole campaign, without retries
    kills: int  # of each victim
    seed: int
    done: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        victims = [victim for victim in VICTIMS for _ in range(self.kills)]
        self._random.shuffle(victims)
        at = sorted(self._random.uniform(0, LAST_SHARE * self.pods) for _ in victims)
        self._plan = list(zip(at, victims, strict=True))
        self._kill: dict[str, Callable[[], None]] = {
            "service": self._crash_service,
            "scheduler": self.airflow.crash_scheduler,
            "postgres": self.server.kill_postgres,
        }

    def pending(self) -> int:
        return len(self._plan)

    def crash(self, pods_created: int) -> None:
        """Carry out at most one of the kills that are due, so that its victim can start again before the next."""
        if self._plan and pods_created >= self._plan[0][0]:
            victim = self._plan[0][1]
            self._kill[victim]()
            self._plan.pop(0)
            self.done[victim] += 1

    def _crash_service(self) -> None:
        self.server.crash()
        time.sleep(self._random.uniform(0, 3))  # a supervisor takes some time to start it again
        self.server.start()
