"""Tests of plans: resizes by synchronous and deferrable tasks, and the return to the static grant."""

from __future__ import annotations

import pytest

from harness.environment import Environment
from scenarios import PHASED_CASES, PHASED_GROWN, PHASED_START, PHASED_STATIC

FOLLOWED = [name for name, case in PHASED_CASES.items() if name.startswith("memory") and not case.fallback]
FALLBACKS = [name for name, case in PHASED_CASES.items() if case.fallback]


def first_run(environment: Environment, task_id: str) -> list[int | None]:
    """Return the memory limit of the only pod of a task at its start, and the limit wanted last."""
    done = environment.airflow.wait("phased", "first")[task_id, -1]
    assert (done.state, done.tries) == ("success", 1), environment.airflow.log("phased", "first", task_id)
    (pod,) = environment.pods("phased", task_id, "first")
    return [pod.limit_in_force(0.0), pod.memory_limit]


@pytest.mark.parametrize("task_id", FOLLOWED)
def test_a_limit_grows_with_its_plan(environment: Environment, task_id: str) -> None:
    assert first_run(environment, task_id) == [PHASED_START, PHASED_GROWN]
    executed = environment.planner.executed_plan(task_id=task_id)
    assert executed["followed"] is True
    (pod,) = environment.pods("phased", task_id, "first")
    cpu, memory = [patch["spec"]["containers"][0]["resources"] for patch in pod.resizes[:2]]
    assert cpu == {"requests": {"cpu": "750m"}}
    assert memory["limits"] == memory["requests"] == {"memory": str(PHASED_GROWN)}


@pytest.mark.parametrize("task_id", FALLBACKS)
def test_a_failure_leads_to_the_static_grant(environment: Environment, task_id: str) -> None:
    assert first_run(environment, task_id) == [PHASED_START, PHASED_STATIC]
    log = environment.airflow.whole_log("phased", "first", task_id)
    assert "returning to the static grant" in log
    assert PHASED_CASES[task_id].fallback in log
    if not PHASED_CASES[task_id].outage:
        executed = environment.planner.executed_plan(task_id=task_id)
        assert executed["followed"] is False
        assert PHASED_CASES[task_id].fallback in executed["fallback"]


# Tasks with two triggers are left out: the second trigger overwrites the log of the first.
@pytest.mark.parametrize("task_id", [n for n in (*FOLLOWED, *FALLBACKS) if PHASED_CASES[n].deferrals == 1])
def test_the_log_shows_the_plan_and_every_resize(environment: Environment, task_id: str) -> None:
    first_run(environment, task_id)
    (pod,) = environment.pods("phased", task_id, "first")
    log = environment.airflow.whole_log("phased", "first", task_id)
    assert "loadaware: plan (memory): version 1, planned memory 256Mi of 1Gi" in log
    assert log.count("loadaware: resize after") == len(pod.resizes)


def test_a_cpu_plan_does_not_change_the_memory(environment: Environment) -> None:
    assert first_run(environment, "cpu_grows") == [PHASED_STATIC, PHASED_STATIC]
    (pod,) = environment.pods("phased", "cpu_grows", "first")
    assert pod.resizing.in_force(0.0)[0]["requests"]["cpu"] == "250m"
    assert all("limits" not in patch["spec"]["containers"][0]["resources"] for patch in pod.resizes)


def test_an_observed_plan_changes_nothing(environment: Environment) -> None:
    assert first_run(environment, "observe_grows_deferrable") == [PHASED_STATIC, PHASED_STATIC]
    (pod,) = environment.pods("phased", "observe_grows_deferrable", "first")
    assert pod.resizes == []
    assert environment.planner.executed_plan(task_id="observe_grows_deferrable")["mode"] == "observe"
