"""The checks of a finished trial, which read Airflow's database and the campaign's runs from the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from harness.deployment import Airflow
from harness.environment import Environment
from trial.pipeline import DAG, SCHEDULER, STATIC, TASKS, needs_more_than_requested
from trial.settings import INTERVAL, RUNS, SLOW, Settings

Json = dict[str, Any]
PROFILED = 57
CLAIMED_TO_RUN = 30  # a pass (a run of the scheduler DAG that claims runs) has claimed the run and starts its DAG run
END_OF_TIME = datetime.max.replace(tzinfo=timezone.utc)


def read_time(text: str | None) -> datetime:
    """Parse a time of Airflow's database. A missing time has not come yet: it is END_OF_TIME."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc) if text else END_OF_TIME


def started_attempts(run: Json) -> int:
    """Return the number of attempts of a run that were claimed in order to start a DAG run."""
    attempt: int = run["attempt"]
    return attempt if run["state"] >= CLAIMED_TO_RUN else attempt - 1


def run_ids(run: Json) -> list[str]:
    prefix = run["dag_run_id"].rpartition("__")[0]
    return [f"{prefix}__{attempt}" for attempt in range(1, started_attempts(run) + 1)]


def check_runs(environment: Environment, path: str, runs: Sequence[Json]) -> int:
    """Check that each run of the campaign has exactly the DAG runs of its started attempts, and that each task of a
    profiled run has a peak.

    Returns the number of peaks.
    """
    found = [row[0] for row in environment.airflow.query("SELECT run_id FROM dag_run WHERE dag_id = ?", DAG)]
    claimed = {r["dag_run_id"] for r in runs if r["state"] == CLAIMED_TO_RUN} - set(found)  # not started yet
    expected = {run_id for run in runs for run_id in run_ids(run)} - claimed
    assert sorted(found) == sorted(expected), "a DAG run is missing or repeated"
    peaks = 0
    for run in runs:
        if run["state"] != PROFILED:
            continue
        tasks = environment.loadaware.get(f"{path}/runs/{run['n']}/tasks")["tasks"]
        assert sorted(t["task_id"] for t in tasks) == sorted(TASKS), (run["n"], tasks)
        assert all(t["memory_max_bytes"] and t["succeeded"] for t in tasks), (run["n"], tasks)
        peaks += len(tasks)
        if needs_more_than_requested(run["n"]):
            limits = environment.limits(DAG, TASKS[0], run["dag_run_id"])
            assert max(limits) > STATIC, f"run {run['n']} was not lifted: {limits}"
    for task in TASKS:
        profile = environment.loadaware.get(f"/tasks/{DAG}/{task}")
        assert profile["kills"] == 0, f"kills of reproduced runs were counted: {profile}"
    return peaks


@dataclass(frozen=True)
class Span:
    """A DAG run from its queueing to its end."""

    start: datetime
    end: datetime


def check_parallelism(airflow: Airflow, settings: Settings) -> dict[int, int]:
    """Check that each DAG run was queued within the parallelism that its pass read.

    A pass reads the Variable after its start, so a pass that began after a change must obey it. Returns the largest
    number of concurrent DAG runs for each value of the Variable.
    """
    spans = [
        Span(read_time(queued), read_time(ended))
        for queued, ended in airflow.query("SELECT queued_at, end_date FROM dag_run WHERE dag_id = ?", DAG)
    ]
    sql = "SELECT start_date FROM task_instance WHERE dag_id = ? AND task_id = 'trigger_run' AND start_date IS NOT NULL"
    # The starts of all runs of the scheduler DAG, also of those that are no pass.
    starts = sorted(read_time(row[0]) for row in airflow.query(sql, SCHEDULER))
    most: dict[int, int] = {}
    for span in spans:
        active = sum(other.start <= span.start < other.end for other in spans)
        begun = max((start for start in starts if start <= span.start), default=span.start)
        permitted = max(settings.between(RUNS, begun, span.start))
        assert active <= permitted, f"{active} DAG runs at {span.start}; the parallelism was {permitted}"
        most[permitted] = max(most.get(permitted, 0), active)
    return most


def check_variables(airflow: Airflow, settings: Settings, most: dict[int, int]) -> int:
    """Check that a raised parallelism was used, and that no interval of SLOW ticks had more than one pass.

    A tick is the time between two scheduled runs of the scheduler DAG. Returns the number of passes in these intervals.
    """
    assert max(most.values()) > settings.changes[RUNS][0].value, f"no raised parallelism was used: {most}"
    slow = settings.tick * SLOW
    begin, end = next(
        (change.at, following.at)
        for change, following in zip(settings.changes[INTERVAL], settings.changes[INTERVAL][1:], strict=False)
        if change.value == slow
    )
    # In a run of the scheduler DAG that is no pass, check_run returns None, so Airflow stores no XCom. A run reads the
    # Variable after its start.
    sql = """SELECT dag_run.run_after, task_instance.start_date FROM xcom
        JOIN dag_run ON dag_run.dag_id = xcom.dag_id AND dag_run.run_id = xcom.run_id
        JOIN task_instance ON task_instance.dag_id = xcom.dag_id AND task_instance.run_id = xcom.run_id
            AND task_instance.task_id = xcom.task_id
        WHERE xcom.dag_id = ? AND xcom.task_id = 'check_run'"""
    if "run_after" not in {row[1] for row in airflow.query("PRAGMA table_info(dag_run)")}:
        sql = sql.replace("run_after", "execution_date")
    due = [
        int(read_time(at).timestamp()) // slow
        for at, started in airflow.query(sql, SCHEDULER)
        if begin < read_time(started) and read_time(started) < end
    ]
    assert len(due) == len(set(due)), "an interval had more than one pass"
    return len(due)
