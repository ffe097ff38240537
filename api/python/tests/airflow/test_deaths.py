"""Each kind of death, told apart: what the server is told, and what the next try gets."""

from __future__ import annotations

import pytest

from harness.waiting import wait_for
from harness.world import World
from scenarios import DYING, DYING_DEFERRABLE, MIB, STATIC_SMALL, Dying

CASES = [("deaths", name) for name in DYING] + [("deaths_deferrable", name) for name in DYING_DEFERRABLE]


def tried(world: World, dag_id: str, task_id: str) -> tuple[Dying, list[int]]:
    """What was to happen, and the memory limits of the tries."""
    done = world.airflow.wait(dag_id, "first")[task_id, -1]
    dying, limits = DYING[task_id], world.limits(dag_id, task_id, "first")
    assert done.state == "success"
    assert done.tries == len(limits) == dying.tries
    assert limits[0] == STATIC_SMALL, "of what nobody knows yet, the static request stands"
    return dying, limits


@pytest.mark.parametrize(("dag_id", "task_id"), CASES)
def test_only_a_lack_of_memory_is_lifted(world: World, dag_id: str, task_id: str) -> None:
    dying, limits = tried(world, dag_id, task_id)
    if dying.lifted:
        assert limits[1] > STATIC_SMALL
    else:
        assert set(limits) == {STATIC_SMALL}


@pytest.mark.parametrize(("dag_id", "task_id"), CASES)
def test_the_server_is_told_how_it_died(world: World, dag_id: str, task_id: str) -> None:
    dying, limits = tried(world, dag_id, task_id)
    one = {"dag_id": dag_id, "task_id": task_id, "run_id": "first"}
    known = world.loadaware.get(f"/tasks/{dag_id}/{task_id}")
    assert known["observations"] == len(limits)
    assert known["kills"] == (1 if dying.lifted else 0)
    had = {"allocated": {"memory_bytes": STATIC_SMALL}} if dying.lifted else {}
    assert world.loadaware.heard(dying.outcome, try_number=1, **had, **one)
    assert world.loadaware.heard("success", try_number=len(limits), **one)


def observations(world: World, dag_id: str, task_id: str) -> int:
    try:
        return int(world.loadaware.get(f"/tasks/{dag_id}/{task_id}")["observations"])
    except OSError:
        return 0


def test_callbacks_tell_of_tasks_without_a_pod(world: World) -> None:
    done = world.airflow.wait("other", "first")["work", -1]
    assert (done.state, done.tries) == ("success", 2)
    wait_for("both reports", lambda: observations(world, "other", "work") == 2, seconds=20)
    one = {"dag_id": "other", "task_id": "work", "run_id": "first"}
    assert not world.loadaware.heard("success", try_number=1, **one)
    assert world.loadaware.heard("success", try_number=2, **one)


@pytest.mark.parametrize(("task_id", "code", "static"), [("quota", 403, 1024 * MIB), ("admission", 422, 8192 * MIB)])
def test_a_size_that_kubernetes_refuses_gives_way_to_the_static_request(
    world: World, task_id: str, code: int, static: int
) -> None:
    done = world.airflow.wait("refused", "first")[task_id, -1]
    assert (done.state, done.tries) == ("success", 1)
    assert world.limits("refused", task_id, "first") == [static]
    assert [refusal.code for refusal in world.cluster.refusals].count(code) == 1
