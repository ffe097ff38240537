"""Tests of the branches of a campaign: times of the server, the tasks that need a peak, and steps that raise."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_provider_loadaware._compat import AIRFLOW_3
from airflow_provider_loadaware.campaign_branches import Campaigns, Hooks, NotDeployedError, read_time
from airflow_provider_loadaware.campaign_runs import DagInfo, open_runs
from airflow_provider_loadaware.service import Service

from .conftest import ScriptedServer


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-11-23T07:00:05Z", 0),
        ("2026-11-23T07:00:05.1Z", 100_000),
        ("2026-11-23T07:00:05.12345Z", 123_450),
        ("2026-11-23T07:00:05.123456Z", 123_456),
        ("2026-11-23T07:00:05.123456789Z", 123_456),
        ("2026-11-23T08:00:05.12+01:00", 120_000),
    ],
)
def test_times_of_the_server_are_parsed(text: str, microsecond: int) -> None:
    assert read_time(text) == datetime(2026, 11, 23, 7, 0, 5, microsecond, tzinfo=timezone.utc)


RUN = {
    "n": 1,
    "dag_run_id": "run-1",
    "conf": None,
    "scenario": "s",
    "execution_date": "2024-01-03T00:00:00Z",
    "state": 51,
    "attempt": 1,
    "changed_at": "2024-01-03T00:00:00Z",
    "notes": None,
}
CAMPAIGN = {"id": 1, "namespace": "default", "runs": 1, "progress": 0}
CLAIM = {"stopped": None, "dag_id": "d", "version": None, "pool": None}


@pytest.mark.skipif(not AIRFLOW_3, reason="Airflow 2 reads its database")
@pytest.mark.parametrize(
    ("reported", "pod_tasks", "result"),
    [
        ([("score", 0)], ["score"], (55, "without a peak: score_1")),
        ([("load_2", -1)], ["score"], (55, "without a peak: score_0, score_1")),
        ([("score", 0), ("score", 1)], ["score", "load"], (57, "2 tasks have a peak")),
        ([("score", 0), ("score", 1)], ["*"], (55, "without a peak: load_2")),
    ],
)
def test_each_map_index_of_a_pod_task_needs_a_peak(
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    reported: list[tuple[str, int]],
    pod_tasks: list[str],
    result: tuple[int, str],
) -> None:
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import GetTaskStates, TaskStatesResult

    instances = {("score", 0): "score_0", ("score", 1): "score_1", ("load_2", -1): "load_2"}

    def send(message: GetTaskStates) -> TaskStatesResult:
        names = (name for (task, _), name in instances.items() if task in (message.task_ids or (task,)))
        return TaskStatesResult(task_states={"run-1": dict.fromkeys(names, "success")})

    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", SimpleNamespace(send=send), raising=False)
    tasks = [{"task_id": task, "map_index": index, "memory_max_bytes": 1 << 30} for task, index in reported]
    server.answers = {
        "/campaigns?limit=1000": (200, {"campaigns": [CAMPAIGN]}),
        "/campaigns/1/claim": (200, {**CLAIM, "runs": [RUN]}),
        "/campaigns/1/runs/1/tasks": (200, {"tasks": tasks}),
        "/campaigns/1/runs/1/result": (200, {}),
    }
    campaigns = Campaigns(Service(server.url), open_runs(), "default", Hooks(pod_tasks=tuple(pod_tasks)))
    campaigns.run_pass("check_profile", 1)
    sent: dict[str, Any] = server.bodies_of("/campaigns/1/runs/1/result")[0]
    assert (sent["to"], sent["notes"]) == result


class FailingRuns:
    """The DAG runs of an Airflow that fails each call with the next of `problems`, until none is left."""

    def __init__(self, *problems: Exception) -> None:
        self.problems = list(problems)

    def _answer(self, value: Any) -> Any:
        if self.problems:
            raise self.problems.pop(0)
        return value

    def dag(self, dag_id: str) -> DagInfo:
        return cast(DagInfo, self._answer(DagInfo(False, frozenset())))

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        self._answer(None)

    def state(self, dag_id: str, run_id: str) -> str:
        return str(self._answer("running"))

    def task_states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str]:
        return self._answer({})  # type: ignore[no-any-return]


def passes(server: ScriptedServer, runs: FailingRuns, branch: str, state: int, count: int) -> list[tuple[int, Any]]:
    """Return what `count` passes report. A report with empty notes keeps the stored notes, as in the server."""
    run = {**RUN, "state": state}

    def store(body: Any) -> tuple[int, Any]:
        run["notes"] = body["notes"] or run["notes"]
        return 200, {}

    server.answers = {
        "/campaigns?limit=1000": (200, {"campaigns": [CAMPAIGN]}),
        "/campaigns/1/claim": lambda _: (200, {**CLAIM, "runs": [run]}),
        "/campaigns/1/runs/1/tasks": (200, {"tasks": []}),
        "/campaigns/1/runs/1/result": store,
    }
    for _ in range(count):
        Campaigns(Service(server.url), runs, "default", Hooks(profile_timeout=timedelta.max)).run_pass(branch, 1)
    return [(body["to"], body["notes"]) for body in server.bodies_of("/campaigns/1/runs/1/result")]


UNAVAILABLE = RuntimeError("Airflow answered API_SERVER_ERROR: 503")
ERROR = "RuntimeError: Airflow answered API_SERVER_ERROR: 503"


@pytest.mark.parametrize(
    ("branch", "state", "again", "then"),
    [
        ("check_deploy", 11, 11, (17, "continued after 2 errors")),
        ("trigger_run", 30, 17, (31, "continued after 2 errors")),
        ("check_run", 31, 31, (31, "continued after 2 errors")),
        ("check_profile", 51, 51, (51, "no task reported a try")),
    ],
)
def test_the_next_pass_repeats_a_step_that_raised(
    server: ScriptedServer, branch: str, state: int, again: int, then: tuple[int, str]
) -> None:
    problems = [UNAVAILABLE, UNAVAILABLE]
    expected = [(again, f"error 1 of 10: {ERROR}"), (again, f"error 2 of 10: {ERROR}"), then]
    assert passes(server, FailingRuns(*problems), branch, state, 3) == expected


def test_ten_errors_in_a_row_fail_a_run_and_nine_do_not(server: ScriptedServer) -> None:
    assert [to for to, _ in passes(server, FailingRuns(*[UNAVAILABLE] * 9), "check_run", 31, 11)] == [31] * 11
    server.requests.clear()
    *earlier, last = passes(server, FailingRuns(*[UNAVAILABLE] * 10), "check_run", 31, 10)
    assert [to for to, _ in earlier] == [31] * 9
    assert last == (35, f"error 10 of 10: {ERROR}")


def test_a_dag_that_cannot_run_and_a_function_that_raises_fail_a_run_at_once(server: ScriptedServer) -> None:
    problem = NotDeployedError("paused")
    assert passes(server, FailingRuns(problem), "check_deploy", 11, 1) == [(15, "NotDeployedError: paused")]
    server.requests.clear()

    def profile(_: Any) -> None:
        raise OSError("a\udce9")

    run = {**RUN, "state": 50}
    server.answers = {
        "/campaigns?limit=1000": (200, {"campaigns": [CAMPAIGN]}),
        "/campaigns/1/claim": (200, {**CLAIM, "runs": [run]}),
        "/campaigns/1/runs/1/result": (200, {}),
    }
    Campaigns(Service(server.url), FailingRuns(), "default", Hooks(profile=profile)).run_pass("trigger_profile", 1)
    (sent,) = server.bodies_of("/campaigns/1/runs/1/result")
    assert (sent["to"], sent["notes"]) == (55, "OSError: a\ufffd")
