"""Tests of the scheduler DAG of campaigns: which of its runs (one per tick) is a pass, and which branches act."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_loadaware import campaigns

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
TICK = timedelta(seconds=10)


def run_at(seconds: float, run_type: str = "scheduled") -> Any:
    return SimpleNamespace(run_type=run_type, logical_date=START + timedelta(seconds=seconds))


def due(run: Any, previous: Any | None) -> bool:
    ti = SimpleNamespace(get_previous_dagrun=lambda: previous)
    return campaigns._is_due({"dag_run": run, "ti": ti}, TICK)


@pytest.mark.parametrize(
    ("at", "previous", "expected"),
    [
        (60, 50, True),
        (70, 60, False),
        (50, 40, False),
        (80, 50, True),  # Airflow skipped the ticks at 60 and 70
        (65, 55, True),  # ticks need not be aligned with intervals
        (75, 65, False),
        (60, None, True),
        (70, None, False),
    ],
)
def test_the_first_run_of_each_interval_is_due(
    monkeypatch: pytest.MonkeyPatch, at: int, previous: int | None, expected: bool
) -> None:
    monkeypatch.setattr(campaigns, "read_variable", lambda name, default: 60)
    assert due(run_at(at), None if previous is None else run_at(previous)) is expected


def test_a_parallelism_of_zero_stops_triggers_but_not_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[tuple[str, int]] = []
    opened = SimpleNamespace(run_pass=lambda branch, limit: passes.append((branch, limit)))
    monkeypatch.setattr(campaigns, "read_variable", lambda name, default: 0)
    monkeypatch.setattr(campaigns, "_open", lambda *args: opened)
    for branch in campaigns.BRANCHES:
        campaigns._pass(branch, "", campaigns.Hooks(), TICK, TICK, dag_run=run_at(0, "manual"))
    assert passes == [("check_deploy", 1000), ("check_run", 1000), ("check_profile", 1000)]


def test_a_run_that_a_person_triggers_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "read_variable", lambda name, default: 60)
    assert due(run_at(70, "manual"), run_at(60))
