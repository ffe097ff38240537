"""State that outlives a try: OOM kills of its run, and reports that are not sent yet.

The state folder of this machine stores both. Airflow 3.3 and later also stores kills in its task state, which
a try on another machine can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_provider_loadaware.grant import MAX_BYTES, Kill
from airflow_provider_loadaware.state import FileStore
from airflow_provider_loadaware.tries import Try

MAX_REPORTS = 1000
MAX_KILLS = 1000
STATE_KEY = "loadaware_kill"


class Kills:
    """Stores the latest OOM kill of each (run, map index)."""

    def __init__(self, folder: Path | None) -> None:
        self._store = FileStore(folder, "kills", MAX_KILLS)

    def record(self, killed: Try, kill: Kill, context: Mapping[str, Any]) -> None:
        """Store the latest kill of a run."""
        value = {"at_bytes": kill.at_bytes, "try_number": kill.try_number, "next_bytes": kill.next_bytes}
        self._store.put(killed.run_key, value)
        store = context.get("task_state_store")
        if store is not None:
            store.set(STATE_KEY, value)

    def find(self, current: Try, context: Mapping[str, Any]) -> Kill | None:
        """Return the latest kill of an earlier try of this run, or None. A cleared task continues to count tries."""
        if current.try_number == 1:
            return None
        store = context.get("task_state_store")
        for value in (self._store.get(current.run_key), store.get(STATE_KEY) if store is not None else None):
            kill = _kill(value)
            if kill is not None and kill.try_number < current.try_number:
                return kill
        return None


class Spool:
    """Stores pending reports, at most one for each try; a new report replaces the old one."""

    def __init__(self, folder: Path | None) -> None:
        self._store = FileStore(folder, "reports", MAX_REPORTS)

    def add(self, reported: Try, report: dict[str, Any]) -> bool:
        """Store a report. Returns whether that succeeded."""
        return self._store.put(reported.key, {"run": reported.run_key, "report": report})

    def pending(self, count: int, run_key: str | None = None) -> dict[str, dict[str, Any]]:
        """Return up to `count` reports by key, oldest first; with `run_key`, only those of that run."""
        stored = self._store.oldest(MAX_REPORTS if run_key else count)
        found = {
            key: value["report"]
            for key, value in stored.items()
            if isinstance(value.get("report"), dict) and run_key in (None, value.get("run"))
        }
        return dict(list(found.items())[:count])

    def remove(self, key: str) -> None:
        """Delete a report."""
        self._store.drop(key)


def _kill(value: Any) -> Kill | None:
    if not isinstance(value, Mapping):
        return None
    at, number, promised = (value.get(name) for name in ("at_bytes", "try_number", "next_bytes"))
    if not isinstance(at, int) or not 0 < at <= MAX_BYTES or not isinstance(number, int):
        return None
    return Kill(at, number, promised if isinstance(promised, int) and at <= promised <= MAX_BYTES else None)
