"""Test of a short campaign with one run at a time: each run becomes profiled, the failed run after a reset.

A run is profiled once the peak of each of its pod tasks is known.
"""

from __future__ import annotations

import json
from typing import Any

from harness.environment import FIRST_RUNS, Environment
from harness.waiting import wait_for, wait_for_progress
from scenarios import CAMPAIGN_DAG, CAMPAIGN_MAINTAINER, CAMPAIGN_SCHEDULER, CAMPAIGN_TASKS, GIB, MIB

RUNS = 2
DEPLOYED, RUN_FAILED, PROFILED = 17, 35, 57  # states of a run; docs/campaigns.md describes them
ARCHIVED = [
    {
        "scenario": f"archived__{n}",
        "execution_date": f"2024-02-0{n + 1}T00:00:00Z",
        # The first run needs more than the static request, so that its first try is killed and later tries get more.
        "conf": {"rows": 100 + n, "need": (1500 if n == 0 else 300) * MIB, "fails": "failed" if n == 1 else ""},
    }
    for n in range(RUNS)
]


def test_a_campaign_profiles_every_run(environment: Environment) -> None:
    server, airflow = environment.loadaware, environment.airflow
    for dag_id in FIRST_RUNS:  # their tries and the runs of the campaign's scheduler DAG would slow each other down
        airflow.wait(dag_id, "first")
    airflow.wait_for_dags({CAMPAIGN_DAG, CAMPAIGN_SCHEDULER, CAMPAIGN_MAINTAINER})
    created = {"name": "short", "dag_id": CAMPAIGN_DAG, "conf": {"sandbox": True}, "budget": {"runs": RUNS + 1}}
    campaign = server.post("/campaigns", created)["id"]
    path = f"/campaigns/{campaign}"
    assert server.post(f"{path}/runs", {"runs": ARCHIVED}) == {"registered": RUNS, "already": 0}

    def reset_failed_run_and_read_states() -> list[int]:
        runs = server.get(f"{path}/runs")["runs"]
        active = [state for state in airflow.runs(CAMPAIGN_DAG).values() if state not in ("success", "failed")]
        assert len(active) <= 1, "more runs are active than the Airflow Variable loadaware_campaign_runs permits"
        if runs[1]["state"] == RUN_FAILED:
            assert runs[1]["notes"] == "the DAG run failed: load, price"
            server.post(f"{path}/runs/2/reset", {"to": DEPLOYED})
        return [r["state"] for r in runs]

    for dag_id in (CAMPAIGN_SCHEDULER, CAMPAIGN_MAINTAINER):
        airflow.pause(dag_id, paused=False)
    try:
        wait_for_progress("the campaign", reset_failed_run_and_read_states, [PROFILED] * RUNS)
        wait_for("the maintainer DAG", lambda: "success" in airflow.runs(CAMPAIGN_MAINTAINER).values(), seconds=120)
    except AssertionError as error:
        raise AssertionError(json.dumps([server.get(path), airflow.runs(CAMPAIGN_SCHEDULER)], indent=1)) from error
    finally:
        for dag_id in (CAMPAIGN_SCHEDULER, CAMPAIGN_MAINTAINER):
            airflow.pause(dag_id, paused=True)
    runs = server.get(f"{path}/runs")["runs"]
    status = server.get(path)
    assert [r["attempt"] for r in runs] == [1, 2]
    assert status["used"]["runs"] == RUNS + 1
    assert sorted(airflow.runs(CAMPAIGN_DAG)) == sorted(expected_run_ids(runs)), "a DAG run is missing or repeated"
    for r in runs:
        tasks = server.get(f"{path}/runs/{r['n']}/tasks")["tasks"]
        assert [t["task_id"] for t in tasks] == list(CAMPAIGN_TASKS)
        assert all(t["memory_max_bytes"] for t in tasks), tasks
    lifted = environment.limits(CAMPAIGN_DAG, "load", runs[0]["dag_run_id"])
    assert lifted[0] < 1500 * MIB <= lifted[-1] <= 8 * GIB
    assert server.get(f"/tasks/{CAMPAIGN_DAG}/load")["kills"] == 0, "kills of reproduced runs were counted"


def expected_run_ids(runs: list[dict[str, Any]]) -> list[str]:
    return [f"{r['dag_run_id'].rpartition('__')[0]}__{attempt}" for r in runs for attempt in range(1, r["attempt"] + 1)]
