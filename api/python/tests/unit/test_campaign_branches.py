"""Tests of the branches of a campaign: the parser for times of the server, and the tasks that need a peak."""

from __future__ import annotations

from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_loadaware._compat import AIRFLOW_3
from airflow_provider_loadaware.campaign_branches import Campaigns, Hooks, read_time
from airflow_provider_loadaware.campaign_runs import open_runs
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
}


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
    campaign = {"id": 1, "namespace": "default", "runs": 1, "progress": 0}
    claim = {"runs": [RUN], "stopped": None, "dag_id": "d", "version": None, "pool": None}
    tasks = [{"task_id": task, "map_index": index, "memory_max_bytes": 1 << 30} for task, index in reported]
    server.answers = {
        "/campaigns?limit=1000": (200, {"campaigns": [campaign]}),
        "/campaigns/1/claim": (200, claim),
        "/campaigns/1/runs/1/tasks": (200, {"tasks": tasks}),
        "/campaigns/1/runs/1/result": (200, {}),
    }
    campaigns = Campaigns(Service(server.url), open_runs(), "default", Hooks(pod_tasks=tuple(pod_tasks)))
    campaigns.pass_branch("check_profile", 1)
    sent: dict[str, Any] = server.of("/campaigns/1/runs/1/result")[0]
    assert (sent["to"], sent["notes"]) == result
