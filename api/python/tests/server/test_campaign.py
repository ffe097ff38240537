"""Tests of the branches of a campaign (campaign_branches.py) against the real server; TableRuns replaces Airflow."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_loadaware.campaign_branches import Campaigns, Hooks, Reproduction
from airflow_provider_loadaware.campaign_runs import DagInfo
from airflow_provider_loadaware.service import Deadline, RejectedError, Service

from .conftest import PREDICT_TOKEN, TOKEN

TASKS = [f"task_{n}" for n in range(12)]
PARALLELISM = {"deploy": 4, "run": 2, "profile": 5}
BRANCHES = ("trigger_deploy", "check_deploy", "trigger_run", "check_run", "trigger_profile", "check_profile")
GIB = 1 << 30


class WorkerDeath(BaseException):
    """Simulates the death of a worker."""


class TableRuns:
    """DAG runs that end between the first and the second read of their state; a success reports one peak per task."""

    def __init__(self, service: Service, dag_id: str) -> None:
        self.service, self.dag_id = service, dag_id
        self.states: dict[str, str] = {}
        self.created: list[str] = []
        self.confs: dict[str, dict[str, Any]] = {}
        self.paused = False
        self.fails: set[str] = set()
        self.most_active = 0  # largest number of concurrent runs

    def dag(self, dag_id: str) -> DagInfo | None:
        return DagInfo(self.paused, frozenset({"v2"})) if dag_id == self.dag_id else None

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        if run_id in self.states:
            return
        self.created.append(run_id)
        self.states[run_id], self.confs[run_id] = "running", conf
        self.most_active = max(self.most_active, list(self.states.values()).count("running"))

    def state(self, dag_id: str, run_id: str) -> str | None:
        state = self.states.get(run_id)
        if state == "running":
            self.states[run_id] = "failed" if run_id in self.fails else "success"
            if self.states[run_id] == "success":
                self._report(run_id)
        return state

    def task_states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str]:
        return dict.fromkeys(((task, -1) for task in TASKS), self.states[run_id])

    def _report(self, run_id: str) -> None:
        reports = [
            {"task_id": task, "run_id": run_id, "outcome": "success", "memory_max_bytes": GIB, "duration_seconds": 60.0}
            for task in TASKS
        ]
        of_dag = {"namespace": self.dag_id, "dag_id": self.dag_id}
        self.service.observe_many([{**of_dag, **report} for report in reports], Deadline())


class UnreliableRuns(TableRuns):
    """The DAG runs of an Airflow in which some calls raise an error; `trigger` raises it after the start of the run."""

    chance = random.Random(25)

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        super().trigger(dag_id, run_id, conf)
        self._fail_sometimes()

    def state(self, dag_id: str, run_id: str) -> str | None:
        self._fail_sometimes()
        return super().state(dag_id, run_id)

    def _fail_sometimes(self) -> None:
        if self.chance.random() < 0.2:
            raise RuntimeError("Airflow is unavailable")


class CampaignsOfDyingWorkers(Campaigns):
    """Simulates workers that die at random after a step and before its report."""

    chance = random.Random(24)

    def _report(self, run: Reproduction, to: int, notes: str) -> None:
        if self.chance.random() < 0.05:
            raise WorkerDeath
        super()._report(run, to, notes)


@pytest.fixture
def service(url: str) -> Service:
    return Service(url, TOKEN)


def create(service: Service, dag_id: str, runs: int, **more: Any) -> str:
    """Create a campaign with a number of archived runs. Returns its path in the API."""
    body = {"name": "test", "namespace": dag_id, "dag_id": dag_id, "conf": {"out": "sandbox"}, **more}
    path = f"/campaigns/{service.request('POST', '/campaigns', body)['id']}"
    archived = [
        {"scenario": f"s{n}", "execution_date": "2024-01-03T00:00:00Z", "conf": {"n": n, "out": "production"}}
        for n in range(runs)
    ]
    service.request("POST", f"{path}/runs", {"runs": archived})
    return path


def test_all_runs_are_profiled_although_workers_die_and_airflow_fails(service: Service) -> None:
    dag_id = "dying-workers"
    path = create(service, dag_id, 30)
    runs = UnreliableRuns(service, dag_id)
    campaigns = CampaignsOfDyingWorkers(service, runs, dag_id, Hooks(), lease=timedelta(seconds=1))
    deaths = 0
    for _ in range(400):
        for branch in BRANCHES:
            try:
                campaigns.run_pass(branch, PARALLELISM[branch.partition("_")[2]])
            except WorkerDeath:
                deaths += 1
        status = service.request("GET", path)
        if status["progress"] == 1:
            break
    assert status["progress"] == 1, status["states"]
    assert deaths >= 5
    assert len(runs.created) == len(set(runs.created)) == 30, "a DAG run is missing or repeated"
    assert runs.most_active <= PARALLELISM["run"]
    assert all(conf["out"] == "sandbox" for conf in runs.confs.values())
    tasks = [service.request("GET", f"{path}/runs/{n}/tasks")["tasks"] for n in range(1, 31)]
    assert sum(map(len, tasks)) == 30 * len(TASKS)


def test_each_failure_waits_for_a_reset(service: Service) -> None:
    dag_id = "failing"
    path = create(service, dag_id, 1, version="v2")
    runs = TableRuns(service, dag_id)
    problem: list[str] = []

    def profile(run: Reproduction) -> None:
        if problem:
            raise RuntimeError(problem[0])

    campaigns = Campaigns(service, runs, dag_id, Hooks(profile=profile))

    def run_passes() -> dict[str, Any]:
        for _ in range(3):
            for branch in BRANCHES:
                campaigns.run_pass(branch, 5)
        return dict(service.request("GET", f"{path}/runs")["runs"][0])

    runs.paused = True
    run = run_passes()
    assert (run["state"], run["notes"]) == (15, f"NotDeployedError: the DAG {dag_id} is paused; unpause it")
    runs.paused = False
    runs.fails.add(run["dag_run_id"])
    problem.append("Prometheus is unavailable")
    service.request("POST", f"{path}/runs/1/reset", {"to": 0})
    run = run_passes()
    assert (run["state"], run["attempt"]) == (35, 1)
    assert run["notes"].startswith("the DAG run failed: task_0")
    service.request("POST", f"{path}/runs/1/reset", {"to": 17})
    run = run_passes()
    assert (run["state"], run["attempt"], run["notes"]) == (55, 2, "RuntimeError: Prometheus is unavailable")
    problem.clear()
    service.request("POST", f"{path}/runs/1/reset", {"to": 37})
    assert run_passes()["state"] == 57
    assert len(runs.created) == 2


def test_a_budget_stops_a_campaign_and_unsafe_requests_are_rejected(service: Service, url: str) -> None:
    path = create(service, "bounded", 3, budget={"runs": 1})
    campaigns = Campaigns(service, TableRuns(service, "bounded"), "bounded", Hooks())
    for _ in range(4):
        for branch in BRANCHES:
            campaigns.run_pass(branch, 5)
    status = service.request("GET", path)
    assert status["stopped"] == "budget of 1 runs is used up"
    assert {s["state"]: s["runs"] for s in status["states"] if s["runs"]} == {0: 2, 57: 1}
    with pytest.raises(RejectedError, match="403"):
        Service(url, PREDICT_TOKEN).request("POST", f"{path}/pause")
    with pytest.raises(RejectedError, match="needs a sandbox conf or a pool"):
        service.request("POST", "/campaigns", {"name": "unsafe", "dag_id": "d"})
