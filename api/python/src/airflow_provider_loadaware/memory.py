"""What tries leave for later ones: kills of their run, and reports that could not be sent.

In the state folder of this machine, and a kill also in Airflow's task state where there is one (3.3 and
later), which a try on another machine sees as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_provider_loadaware.grant import MOST, Kill
from airflow_provider_loadaware.state import Shelf
from airflow_provider_loadaware.tries import Try

MOST_REPORTS = 1000
MOST_KILLS = 1000
STATE_KEY = "loadaware_kill"


class Kills:
    """OOMs by (run, map index)."""

    def __init__(self, folder: Path | None) -> None:
        self._shelf = Shelf(folder, "kills", MOST_KILLS)

    def remember(self, of: Try, kill: Kill, context: Mapping[str, Any]) -> None:
        """Keeps the latest kill of a run."""
        value = {"at_bytes": kill.at_bytes, "try_number": kill.try_number, "next_bytes": kill.next_bytes}
        self._shelf.put(of.run_key, value)
        store = context.get("task_state_store")
        if store is not None:
            store.set(STATE_KEY, value)

    def recall(self, of: Try, context: Mapping[str, Any]) -> Kill | None:
        """The latest kill of an earlier try of this run. A cleared task counts its tries on, so it is one too."""
        if of.try_number == 1:
            return None
        store = context.get("task_state_store")
        for value in (self._shelf.get(of.run_key), store.get(STATE_KEY) if store is not None else None):
            kill = _kill(value)
            if kill is not None and kill.try_number < of.try_number:
                return kill
        return None


class Spool:
    """Reports that wait, one for a try: written again, it replaces the one that waited."""

    def __init__(self, folder: Path | None) -> None:
        self._shelf = Shelf(folder, "reports", MOST_REPORTS)

    def keep(self, of: Try, report: dict[str, Any]) -> bool:
        """Whether the report could be kept."""
        return self._shelf.put(of.key, {"run": of.run_key, "report": report})

    def waiting(self, count: int, run_key: str | None = None) -> dict[str, dict[str, Any]]:
        """Up to `count` reports by key, oldest first; only those of one run if it is named."""
        kept = self._shelf.oldest(MOST_REPORTS if run_key else count)
        found = {
            key: value["report"]
            for key, value in kept.items()
            if isinstance(value.get("report"), dict) and run_key in (None, value.get("run"))
        }
        return dict(list(found.items())[:count])

    def sent(self, key: str) -> None:
        """Forgets a report."""
        self._shelf.drop(key)


def _kill(value: Any) -> Kill | None:
    if not isinstance(value, Mapping):
        return None
    at, number, promised = (value.get(name) for name in ("at_bytes", "try_number", "next_bytes"))
    if not isinstance(at, int) or not 0 < at <= MOST or not isinstance(number, int):
        return None
    return Kill(at, number, promised if isinstance(promised, int) and at <= promised <= MOST else None)
