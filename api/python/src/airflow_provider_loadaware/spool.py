"""State that outlives a try: OOM kills of its run, and reports that are not sent yet.

The state folder of this machine contains both. With Airflow 3.3 and later, Airflow's task state also contains the
kills, so that a try on another machine can read them.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from airflow_provider_loadaware.grant import MAX_BYTES, Kill
from airflow_provider_loadaware.state import FileStore
from airflow_provider_loadaware.tries import Try

MAX_REPORTS = 1000
MAX_KILLS = 1000
STATE_KEY = "loadaware_kill"
log = logging.getLogger(__name__)


class Kills:
    """Stores the latest OOM kill of each (task, run, map index)."""

    def __init__(self, folder: Path | None) -> None:
        self._store = FileStore(folder, "kills", MAX_KILLS)

    def record(self, killed: Try, kill: Kill, context: Mapping[str, Any]) -> None:
        """Store a kill as the latest of its run."""
        value = asdict(kill)
        self._store.put(killed.run_key, value)
        store = context.get("task_state_store")
        if store is not None:
            store.set(STATE_KEY, value)

    def find(self, current: Try, context: Mapping[str, Any]) -> Kill | None:
        """Return the latest kill of an earlier try of this run, or None.

        Clearing a task in Airflow does not reset its try numbers, so this also finds a kill before the clearing.
        """
        if current.try_number == 1:
            return None
        store = context.get("task_state_store")
        values = (self._store.get(current.run_key), store.get(STATE_KEY) if store is not None else None)
        earlier = (
            kill for kill in map(_parse_kill, values) if kill is not None and kill.try_number < current.try_number
        )
        return max(earlier, key=lambda kill: kill.try_number, default=None)

    def mark_reported(self, killed: Try) -> None:
        """Note on this machine that the server knows the kill of a try, if this kill is the latest of its run."""
        value = self._store.get(killed.run_key)
        if value is not None and value.get("try_number") == killed.try_number and value.get("unreported"):
            self._store.put(killed.run_key, {**value, "unreported": False})


class Spool:
    """Stores pending reports, at most one for each try; a new report replaces the old one."""

    def __init__(self, folder: Path | None) -> None:
        self._store = FileStore(folder, "reports", MAX_REPORTS)
        self._kills = Kills(folder)

    def add(self, reported: Try, report: dict[str, Any]) -> bool:
        """Store a report. Returns whether that succeeded."""
        return self._store.put(reported.key, {"run": reported.run_key, "report": report})

    def pending(self, count: int, run_key: str | None = None) -> dict[str, dict[str, Any]]:
        """Return up to `count` reports by key, oldest first; with `run_key`, only those of that run.

        Deletes files without a report: otherwise `count` of them would hide all younger reports.
        """
        stored = self._store.oldest(MAX_REPORTS if run_key else count)
        found = {}
        for key, value in stored.items():
            if not isinstance(value.get("report"), dict):
                self.remove(key)
                log.warning("loadaware: dropping the pending report %s: the file contains no report", key)
            elif run_key in (None, value.get("run")):
                found[key] = value["report"]
        return dict(list(found.items())[:count])

    def postpone(self, key: str) -> None:
        """Make a report the youngest, so that old reports that stay pending do not hide all younger ones."""
        self._store.move_to_end(key)

    def remove(self, key: str) -> None:
        """Delete a report."""
        self._store.drop(key)

    def mark_recorded(self, key: str, report: Mapping[str, Any]) -> None:
        """Delete a report that the server has recorded, and note that the server knows a kill in it."""
        self.remove(key)
        with contextlib.suppress(KeyError):  # a file may contain anything
            self._kills.mark_reported(Try.of_body(report))


def _parse_kill(value: Any) -> Kill | None:
    if not isinstance(value, Mapping):
        return None
    names = ("at_bytes", "try_number", "next_bytes", "static_bytes")
    at, number, announced, static = (value.get(name) for name in names)
    if not isinstance(at, int) or not 0 < at <= MAX_BYTES or not isinstance(number, int):
        return None
    return Kill(
        at,
        number,
        announced if isinstance(announced, int) and at <= announced <= MAX_BYTES else None,
        value.get("unreported") is True,
        static if isinstance(static, int) and 0 < static <= MAX_BYTES else None,
    )
