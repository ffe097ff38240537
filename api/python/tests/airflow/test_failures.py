"""Tests of each kind of failure: its reported outcome, and the memory of the next try."""

from __future__ import annotations

import pytest

from harness.environment import Environment
from harness.waiting import wait_for
from scenarios import FAILURE_CASES, FAILURE_CASES_DEFERRABLE, MIB, STATIC_SMALL, FailureCase

CASES = [
    *(("failures", name) for name in FAILURE_CASES),
    *(("failures_deferrable", name) for name in FAILURE_CASES_DEFERRABLE),
]


def first_run(environment: Environment, dag_id: str, task_id: str) -> tuple[FailureCase, list[int]]:
    done = environment.airflow.wait(dag_id, "first")[task_id, -1]
    case, limits = FAILURE_CASES[task_id], environment.limits(dag_id, task_id, "first")
    assert done.state == "success"
    assert done.tries == len(limits) == case.tries
    assert limits[0] == STATIC_SMALL, "a task without history did not get its static request"
    return case, limits


@pytest.mark.parametrize(("dag_id", "task_id"), CASES)
def test_only_a_lack_of_memory_raises_the_next_limit(environment: Environment, dag_id: str, task_id: str) -> None:
    case, limits = first_run(environment, dag_id, task_id)
    if case.lifted:
        assert limits[1] > STATIC_SMALL
    else:
        assert set(limits) == {STATIC_SMALL}


@pytest.mark.parametrize(("dag_id", "task_id"), CASES)
def test_the_outcome_is_reported(environment: Environment, dag_id: str, task_id: str) -> None:
    case, limits = first_run(environment, dag_id, task_id)
    key = {"dag_id": dag_id, "task_id": task_id, "run_id": "first"}
    profile = environment.loadaware.get(f"/tasks/{dag_id}/{task_id}")
    assert profile["observations"] == len(limits)
    assert profile["kills"] == (1 if case.lifted else 0)
    allocated = {"allocated": {"memory_bytes": STATIC_SMALL}} if case.lifted else {}
    assert environment.loadaware.has_report(case.outcome, try_number=1, **allocated, **key)
    assert environment.loadaware.has_report("success", try_number=len(limits), **key)


def observations(environment: Environment, dag_id: str, task_id: str) -> int:
    try:
        return int(environment.loadaware.get(f"/tasks/{dag_id}/{task_id}")["observations"])
    except OSError:
        return 0


def test_callbacks_report_tasks_without_a_pod(environment: Environment) -> None:
    done = environment.airflow.wait("no_pod", "first")["work", -1]
    assert (done.state, done.tries) == ("success", 2)
    wait_for("both reports", lambda: observations(environment, "no_pod", "work") == 2)
    key = {"dag_id": "no_pod", "task_id": "work", "run_id": "first"}
    assert not environment.loadaware.has_report("success", try_number=1, **key)
    assert environment.loadaware.has_report("success", try_number=2, **key)


@pytest.mark.parametrize(("task_id", "code", "static"), [("quota", 403, 1024 * MIB), ("admission", 422, 8192 * MIB)])
def test_a_rejected_size_falls_back_to_the_static_request(
    environment: Environment, task_id: str, code: int, static: int
) -> None:
    done = environment.airflow.wait("rejected", "first")[task_id, -1]
    assert (done.state, done.tries) == ("success", 1)
    assert environment.limits("rejected", task_id, "first") == [static]
    assert [rejection.code for rejection in environment.cluster.rejections].count(code) == 1
