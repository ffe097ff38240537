"""Tests of each kind of failure: its reported outcome, and the memory of the next try."""

from __future__ import annotations

import pytest

from harness.environment import Environment
from harness.waiting import wait_for
from scenarios import DYING, DYING_DEFERRABLE, MIB, STATIC_SMALL, Dying

CASES = [("deaths", name) for name in DYING] + [("deaths_deferrable", name) for name in DYING_DEFERRABLE]


def tried(environment: Environment, dag_id: str, task_id: str) -> tuple[Dying, list[int]]:
    """Return the expected result and the memory limits of the tries."""
    done = environment.airflow.wait(dag_id, "first")[task_id, -1]
    dying, limits = DYING[task_id], environment.limits(dag_id, task_id, "first")
    assert done.state == "success"
    assert done.tries == len(limits) == dying.tries
    assert limits[0] == STATIC_SMALL, "an unknown task keeps its static request"
    return dying, limits


@pytest.mark.parametrize(("dag_id", "task_id"), CASES)
def test_only_a_lack_of_memory_is_lifted(environment: Environment, dag_id: str, task_id: str) -> None:
    dying, limits = tried(environment, dag_id, task_id)
    if dying.lifted:
        assert limits[1] > STATIC_SMALL
    else:
        assert set(limits) == {STATIC_SMALL}


@pytest.mark.parametrize(("dag_id", "task_id"), CASES)
def test_the_outcome_is_reported(environment: Environment, dag_id: str, task_id: str) -> None:
    dying, limits = tried(environment, dag_id, task_id)
    one = {"dag_id": dag_id, "task_id": task_id, "run_id": "first"}
    known = environment.loadaware.get(f"/tasks/{dag_id}/{task_id}")
    assert known["observations"] == len(limits)
    assert known["kills"] == (1 if dying.lifted else 0)
    had = {"allocated": {"memory_bytes": STATIC_SMALL}} if dying.lifted else {}
    assert environment.loadaware.has_report(dying.outcome, try_number=1, **had, **one)
    assert environment.loadaware.has_report("success", try_number=len(limits), **one)


def observations(environment: Environment, dag_id: str, task_id: str) -> int:
    try:
        return int(environment.loadaware.get(f"/tasks/{dag_id}/{task_id}")["observations"])
    except OSError:
        return 0


def test_callbacks_report_tasks_without_a_pod(environment: Environment) -> None:
    done = environment.airflow.wait("other", "first")["work", -1]
    assert (done.state, done.tries) == ("success", 2)
    wait_for("both reports", lambda: observations(environment, "other", "work") == 2, seconds=20)
    one = {"dag_id": "other", "task_id": "work", "run_id": "first"}
    assert not environment.loadaware.has_report("success", try_number=1, **one)
    assert environment.loadaware.has_report("success", try_number=2, **one)


@pytest.mark.parametrize(("task_id", "code", "static"), [("quota", 403, 1024 * MIB), ("admission", 422, 8192 * MIB)])
def test_a_rejected_size_falls_back_to_the_static_request(
    environment: Environment, task_id: str, code: int, static: int
) -> None:
    done = environment.airflow.wait("refused", "first")[task_id, -1]
    assert (done.state, done.tries) == ("success", 1)
    assert environment.limits("refused", task_id, "first") == [static]
    assert [refusal.code for refusal in environment.cluster.refusals].count(code) == 1
