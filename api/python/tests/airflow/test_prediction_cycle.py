"""Tests of the whole cycle: prediction, OOM kill, lift, success, and a better prediction for the next run."""

from __future__ import annotations

import pytest

from harness.environment import Environment
from harness.waiting import wait_for
from scenarios import GIB, MAPPED_KILLED, MAPPED_ROWS, MIB, STATIC, need_of, training_runs

NEED = 3 * GIB  # of the first run; its rows predict 1000 MiB
SIZED_TASKS = [
    ("sized", "work"),
    ("sized_deferrable", "work"),
    ("function", "work"),
    ("policy", "sync"),
    ("policy", "deferrable"),
]


def receipt(environment: Environment, prediction_id: str) -> dict[str, object]:
    """Wait for a receipt and return it. The server stores the receipt shortly after its answer."""

    def stored() -> dict[str, object] | None:
        try:
            return environment.loadaware.get(f"/predictions/{prediction_id}")
        except OSError:
            return None

    return wait_for("the receipt", stored)


@pytest.mark.parametrize(("dag_id", "task_id"), SIZED_TASKS)
def test_a_killed_run_is_lifted_until_it_succeeds(environment: Environment, dag_id: str, task_id: str) -> None:
    done = environment.airflow.wait(dag_id, "first")[task_id, -1]
    limits = environment.limits(dag_id, task_id, "first")
    assert done.state == "success"
    assert done.tries == len(limits) >= 2
    assert need_of(450) < limits[0] < need_of(1000), "the first try was not sized by the rows"
    assert limits == sorted(set(limits)), "a try did not get more than the one before"
    assert limits[-2] < NEED <= limits[-1] <= 4 * STATIC


@pytest.mark.parametrize(("dag_id", "task_id"), SIZED_TASKS)
def test_the_server_knows_every_try(environment: Environment, dag_id: str, task_id: str) -> None:
    environment.airflow.wait(dag_id, "first")
    limits = environment.limits(dag_id, task_id, "first")
    key = {"dag_id": dag_id, "task_id": task_id, "run_id": "first"}
    for number, limit in enumerate(limits[:-1], start=1):
        allocated = {"memory_bytes": limit}
        assert environment.loadaware.has_report("oom_killed", try_number=number, allocated=allocated, **key)
    assert environment.loadaware.has_report(
        "success",
        try_number=len(limits),
        allocated={"memory_bytes": limits[-1]},
        memory_max_bytes=NEED,
        **key,
    )
    profile = environment.loadaware.get(f"/tasks/{dag_id}/{task_id}")
    assert profile["observations"] == len(training_runs()) + len(limits)
    assert profile["kills"] == len(limits) - 1


@pytest.mark.parametrize(("dag_id", "task_id"), SIZED_TASKS)
def test_a_pod_carries_the_id_of_its_receipt(environment: Environment, dag_id: str, task_id: str) -> None:
    environment.airflow.wait(dag_id, "first")
    for number, pod in enumerate(environment.pods(dag_id, task_id, "first"), start=1):
        stored = receipt(environment, pod.annotations["loadaware.io/prediction-id"])
        ask, answer = stored["ask"], stored["answer"]
        assert isinstance(ask, dict) and isinstance(answer, dict)
        assert (ask["dag_id"], ask["task_id"], ask["run_id"]) == (dag_id, task_id, "first")
        assert (ask["try_number"], ask["features"]["rows"]) == (number, 500)
        assert ask["requested"]["memory_bytes"] == STATIC
        assert answer["source"] == ("model" if number == 1 else "lift")
        assert answer["memory"]["limit_bytes"] == pod.memory_limit


@pytest.mark.parametrize(("dag_id", "task_id"), SIZED_TASKS)
def test_the_log_shows_the_grant_and_the_reason(environment: Environment, dag_id: str, task_id: str) -> None:
    environment.airflow.wait(dag_id, "first")
    log = environment.airflow.log(dag_id, "first", task_id, attempt=1)
    sized = [line for line in log.splitlines() if "8Gi" in line and "from rows" in line]
    assert len(sized) == 1, log
    killed = [line for line in log.splitlines() if "OOMKilled at" in line and "next try gets" in line]
    assert len(killed) == 1, log


def test_other_resources_do_not_change(environment: Environment) -> None:
    environment.airflow.wait("sized", "first")
    for pod in environment.pods("sized", "work", "first"):
        resources = pod.base["resources"]
        assert resources["limits"]["nvidia.com/gpu"] == "1"
        assert resources["requests"]["ephemeral-storage"] == "1Gi"


@pytest.mark.parametrize("task_id", ["denied", "opted_out"])
def test_the_cluster_policy_skips_excluded_tasks(environment: Environment, task_id: str) -> None:
    environment.airflow.wait("policy", "first")
    pods = environment.pods("policy", task_id, "first")
    assert {pod.memory_limit for pod in pods} == {STATIC}
    assert not [pod for pod in pods if "loadaware.io/prediction-id" in pod.annotations]
    assert environment.loadaware.get(f"/tasks/policy/{task_id}")["observations"] == len(training_runs())


def test_the_cluster_policy_sizes_mapped_tasks(environment: Environment) -> None:
    done = environment.airflow.wait("policy", "first")
    for index in (0, 1):
        limits = environment.limits("policy", "mapped", "first", index)
        assert done["mapped", index].state == "success"
        assert limits[0] < STATIC
        assert (len(limits) > 1) == (index == 1)


@pytest.mark.parametrize(("dag_id", "task_id"), SIZED_TASKS)
def test_airflow_shows_the_granted_resources(environment: Environment, dag_id: str, task_id: str) -> None:
    environment.airflow.wait(dag_id, "first")
    rendered = environment.airflow.rendered(dag_id, "first", task_id)["container_resources"]
    granted = environment.pods(dag_id, task_id, "first")[-1].base["resources"]["limits"]["memory"]
    assert granted in str(rendered)


@pytest.mark.parametrize(("dag_id", "task_id"), [s for s in SIZED_TASKS if s[0] != "policy"])
def test_the_extra_link_opens_the_receipt(environment: Environment, dag_id: str, task_id: str) -> None:
    environment.airflow.wait(dag_id, "first")
    last = environment.pods(dag_id, task_id, "first")[-1].annotations["loadaware.io/prediction-id"]
    page = f"{environment.loadaware.url}/ui/try?prediction_id={last}"
    assert environment.airflow.link(dag_id, "first", task_id) == page


def test_a_connection_can_be_tested(environment: Environment) -> None:
    assert "Connection success!" in environment.airflow.test_connection("loadaware_default")
    assert "Connection failed!" in environment.airflow.test_connection("loadaware_hanging")


def test_each_map_index_is_sized(environment: Environment) -> None:
    done = environment.airflow.wait("sized_mapped", "first")
    for index, rows in enumerate(MAPPED_ROWS):
        limits = environment.limits("sized_mapped", "work", "first", index)
        assert done["work", index].state == "success"
        assert need_of(rows) < limits[0] < need_of(2 * rows) + 256 * MIB
        assert (len(limits) > 1) == (index == MAPPED_KILLED)


def test_the_next_run_is_sized_by_a_model_that_learned_the_kill(environment: Environment) -> None:
    for dag_id, task_id in SIZED_TASKS:
        environment.airflow.wait(dag_id, "first")
        trained = environment.loadaware.post(f"/tasks/{dag_id}/{task_id}/train", {})
        assert trained["trained"], trained
    environment.airflow.trigger(*((dag_id, "next", {}) for dag_id in {dag_id for dag_id, _ in SIZED_TASKS}))
    for dag_id, task_id in SIZED_TASKS:
        done = environment.airflow.wait(dag_id, "next")[task_id, -1]
        (pod,) = environment.pods(dag_id, task_id, "next")
        assert (done.state, done.tries) == ("success", 1)
        answer = receipt(environment, pod.annotations["loadaware.io/prediction-id"])["answer"]
        assert isinstance(answer, dict)
        assert answer["source"] == "model"
        assert answer["model"]["observations"] > len(training_runs())
        assert pod.memory_limit is not None and pod.memory_limit < STATIC
