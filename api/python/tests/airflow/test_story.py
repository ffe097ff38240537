"""First try sized, killed on purpose, lifted, seen to succeed; the next run sized by what was learned."""

from __future__ import annotations

import pytest

from harness.waiting import wait_for
from harness.world import World
from scenarios import GIB, MAPPED_HUNGRY, MAPPED_ROWS, MIB, STATIC, history, need_of

NEED = 3 * GIB  # of the first run; its rows say 1000 MiB
STORIES = [
    ("sized", "work"),
    ("sized_deferrable", "work"),
    ("function", "work"),
    ("plain", "sync"),
    ("plain", "deferrable"),
]


def receipt(world: World, prediction_id: str) -> dict[str, object]:
    """The stored answer; the server writes it a moment after it answers."""

    def stored() -> dict[str, object] | None:
        try:
            return world.loadaware.get(f"/predictions/{prediction_id}")
        except OSError:
            return None

    return wait_for("the receipt", stored, seconds=10)


@pytest.mark.parametrize(("dag_id", "task_id"), STORIES)
def test_a_killed_run_is_lifted_until_it_succeeds(world: World, dag_id: str, task_id: str) -> None:
    done = world.airflow.wait(dag_id, "first")[task_id, -1]
    limits = world.limits(dag_id, task_id, "first")
    assert done.state == "success"
    assert done.tries == len(limits) >= 2
    assert need_of(450) < limits[0] < need_of(1000), "the first try is sized by the rows"
    assert limits == sorted(set(limits)), "each try gets more"
    assert limits[-2] < NEED <= limits[-1] <= 4 * STATIC


@pytest.mark.parametrize(("dag_id", "task_id"), STORIES)
def test_the_server_knows_every_try(world: World, dag_id: str, task_id: str) -> None:
    world.airflow.wait(dag_id, "first")
    limits = world.limits(dag_id, task_id, "first")
    one = {"dag_id": dag_id, "task_id": task_id, "run_id": "first"}
    for number, limit in enumerate(limits[:-1], start=1):
        assert world.loadaware.heard("oom_killed", try_number=number, allocated={"memory_bytes": limit}, **one)
    assert world.loadaware.heard(
        "success",
        try_number=len(limits),
        allocated={"memory_bytes": limits[-1]},
        memory_max_bytes=NEED,
        **one,
    )
    known = world.loadaware.get(f"/tasks/{dag_id}/{task_id}")
    assert known["observations"] == len(history()) + len(limits)
    assert known["kills"] == len(limits) - 1


@pytest.mark.parametrize(("dag_id", "task_id"), STORIES)
def test_a_pod_carries_its_receipt(world: World, dag_id: str, task_id: str) -> None:
    world.airflow.wait(dag_id, "first")
    for number, pod in enumerate(world.pods(dag_id, task_id, "first"), start=1):
        stored = receipt(world, pod.annotations["loadaware.io/prediction-id"])
        ask, answer = stored["ask"], stored["answer"]
        assert isinstance(ask, dict) and isinstance(answer, dict)
        assert (ask["dag_id"], ask["task_id"], ask["run_id"]) == (dag_id, task_id, "first")
        assert (ask["try_number"], ask["features"]["rows"]) == (number, 500)
        assert ask["requested"]["memory_bytes"] == STATIC
        assert answer["source"] == ("model" if number == 1 else "lift")
        assert answer["memory"]["limit_bytes"] == pod.memory_limit


@pytest.mark.parametrize(("dag_id", "task_id"), STORIES)
def test_the_log_says_what_was_done_and_why(world: World, dag_id: str, task_id: str) -> None:
    world.airflow.wait(dag_id, "first")
    log = world.airflow.log(dag_id, "first", task_id, attempt=1)
    sized = [line for line in log.splitlines() if "8Gi" in line and "from rows" in line]
    assert len(sized) == 1, log
    killed = [line for line in log.splitlines() if "OOMKilled at" in line and "next try gets" in line]
    assert len(killed) == 1, log


def test_what_is_not_memory_stays_as_it_was(world: World) -> None:
    world.airflow.wait("sized", "first")
    for pod in world.pods("sized", "work", "first"):
        resources = pod.base["resources"]
        assert resources["limits"]["nvidia.com/gpu"] == "1"
        assert resources["requests"]["ephemeral-storage"] == "1Gi"


@pytest.mark.parametrize("task_id", ["denied", "opted_out"])
def test_the_policy_leaves_alone_what_it_must(world: World, task_id: str) -> None:
    world.airflow.wait("plain", "first")
    pods = world.pods("plain", task_id, "first")
    assert {pod.memory_limit for pod in pods} == {STATIC}
    assert not [pod for pod in pods if "loadaware.io/prediction-id" in pod.annotations]
    assert world.loadaware.get(f"/tasks/plain/{task_id}")["observations"] == len(history())


def test_the_policy_sizes_mapped_tasks(world: World) -> None:
    done = world.airflow.wait("plain", "first")
    for index in (0, 1):
        limits = world.limits("plain", "mapped", "first", index)
        assert done["mapped", index].state == "success"
        assert limits[0] < STATIC
        assert (len(limits) > 1) == (index == 1)


@pytest.mark.parametrize(("dag_id", "task_id"), STORIES)
def test_airflow_shows_what_was_granted(world: World, dag_id: str, task_id: str) -> None:
    world.airflow.wait(dag_id, "first")
    shown = world.airflow.rendered(dag_id, "first", task_id)["container_resources"]
    granted = world.pods(dag_id, task_id, "first")[-1].base["resources"]["limits"]["memory"]
    assert granted in str(shown)


@pytest.mark.parametrize(("dag_id", "task_id"), [s for s in STORIES if s[0] != "plain"])
def test_a_button_leads_to_the_receipt(world: World, dag_id: str, task_id: str) -> None:
    world.airflow.wait(dag_id, "first")
    last = world.pods(dag_id, task_id, "first")[-1].annotations["loadaware.io/prediction-id"]
    assert world.airflow.link(dag_id, "first", task_id) == f"{world.loadaware.url}/predictions/{last}"


def test_a_connection_can_be_tested(world: World) -> None:
    assert "Connection success!" in world.airflow.test_connection("loadaware_default")
    assert "Connection failed!" in world.airflow.test_connection("loadaware_hanging")


def test_mapped_tasks_are_sized_each_for_itself(world: World) -> None:
    done = world.airflow.wait("sized_mapped", "first")
    for index, rows in enumerate(MAPPED_ROWS):
        limits = world.limits("sized_mapped", "work", "first", index)
        assert done["work", index].state == "success"
        assert need_of(rows) < limits[0] < need_of(2 * rows) + 256 * MIB
        assert (len(limits) > 1) == (index == MAPPED_HUNGRY)


def test_the_next_run_is_sized_by_a_model_that_knows_of_the_kill(world: World) -> None:
    for dag_id, task_id in STORIES:
        world.airflow.wait(dag_id, "first")
        trained = world.loadaware.post(f"/tasks/{dag_id}/{task_id}/train", {})
        assert trained["trained"], trained
    world.airflow.trigger(*((dag_id, "next", {}) for dag_id in {dag_id for dag_id, _ in STORIES}))
    for dag_id, task_id in STORIES:
        done = world.airflow.wait(dag_id, "next")[task_id, -1]
        (pod,) = world.pods(dag_id, task_id, "next")
        assert (done.state, done.tries) == ("success", 1)
        answer = receipt(world, pod.annotations["loadaware.io/prediction-id"])["answer"]
        assert isinstance(answer, dict)
        assert answer["source"] == "model"
        assert answer["model"]["observations"] > len(history())
        assert pod.memory_limit is not None and pod.memory_limit < STATIC
