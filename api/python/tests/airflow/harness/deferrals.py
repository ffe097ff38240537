"""The deferrals that the scheduler has processed, read from its log."""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path

_FINISHED = re.compile(
    rb"TaskInstance Finished: dag_id=(\S+), task_id=(\S+), run_id=(\S+), map_index=(-?\d+),"
    rb".* state=deferred, .*\btry_number=(\d+),"
)


class Deferrals:
    """The tries whose deferral the scheduler has processed after the deferring process ended.

    A trigger may fire only after that: otherwise Airflow 2 treats the resumed try as a crash and retries it.
    Thread-safe. Each call reads only the new lines of the log.
    """

    def __init__(self, scheduler_log: Path) -> None:
        self._log = scheduler_log
        self._offset = 0
        self._processed: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def count(self, dag_id: str, task_id: str, run_id: str, map_index: str, try_number: str) -> int:
        with self._lock:
            self._read()
            return self._processed[dag_id, task_id, run_id, map_index, try_number]

    def _read(self) -> None:
        if not self._log.exists():
            return
        with self._log.open("rb") as file:
            file.seek(self._offset)
            complete, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(complete) + len(newline)
        for line in complete.splitlines():
            match = _FINISHED.search(line)
            if match is not None:
                self._processed[tuple(group.decode() for group in match.groups())] += 1
