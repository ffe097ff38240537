"""Whatever is wrong with loadaware, the pod is launched, soon, with the request that the DAG states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from harness.faults import FAULTS, faulty, nobody
from harness.launches import DAG_ID, TASK_ID, Launch, Launched, Launches, launching
from harness.loadaware import Loadaware
from harness.world import World, folder
from scenarios import GIB, MIB, STATIC, history, need_of, part

DEADLINE = 2.0  # seconds that the client allows itself at each end of a try
TARGET = 2.5  # seconds of delay that are promised
SLACK = 6.0  # seconds that a busy machine may add

SIDES = {"predict": ("/predict", "/retry-lift"), "observe": ("/observe",)}
ADDRESSES = {
    "refuses": None,
    "has a name that nobody knows": "http://loadaware.invalid:80",
    "does not route": "http://192.0.2.1:80",
}
MATRIX = [(fault, side) for fault in FAULTS for side in SIDES] + [(fault, "both") for fault in ADDRESSES]
HEALTHY = 8  # launches without a fault
POD = part(need_of(500))


@dataclass(frozen=True)
class Outage:
    """All launches of the matrix, and one without a fault."""

    server: Loadaware
    launches: Launches
    healthy: Launched
    faulty: dict[tuple[str, str], Launched]

    def delay(self, case: tuple[str, str]) -> float:
        """Seconds that a fault added: before the pod was there, or in all if reporting failed."""
        launched = self.faulty[case]
        if case[1] == "observe":
            return launched.seconds - self.healthy.seconds
        assert launched.until_pod is not None and self.healthy.until_pod is not None
        return launched.until_pod - self.healthy.until_pod


def run_id(case: tuple[str, str]) -> str:
    return "-".join(case).replace(" ", "-")


@pytest.fixture(scope="module")
def outage() -> Iterator[Outage]:
    with ExitStack() as ending:
        path = ending.enter_context(folder())
        server = Loadaware(path)
        ending.callback(server.stop)
        server.learn(DAG_ID, TASK_ID, history())
        urls = {name: url or ending.enter_context(nobody()) for name, url in ADDRESSES.items()}
        planned = [Launch(f"healthy-{n}", server.url, f"healthy-{n}", POD) for n in range(1 + HEALTHY)]
        for fault, side in MATRIX:
            url = urls.get(fault) or ending.enter_context(faulty(fault, SIDES[side], server.url))
            name = run_id((fault, side))
            planned.append(Launch(name, url, name, POD))
        launches = ending.enter_context(launching(path))
        done = launches.run(*planned)
        # The first one also did what the others find done; of the rest, the median.
        healthy = sorted(done[1 : 1 + HEALTHY], key=lambda one: one.seconds)[HEALTHY // 2]
        yield Outage(server, launches, healthy, dict(zip(MATRIX, done[1 + HEALTHY :], strict=True)))


def test_without_a_fault_the_model_sizes(outage: Outage) -> None:
    assert outage.healthy.error is None, outage.launches.log()[-4000:]
    assert (outage.healthy.pods[0].memory_limit or 0) < STATIC


@pytest.mark.parametrize("case", MATRIX, ids=run_id)
def test_no_launch_is_blocked(outage: Outage, case: tuple[str, str]) -> None:
    launched = outage.faulty[case]
    assert launched.error is None
    assert len(launched.pods) == 1
    sized = launched.pods[0].memory_limit != STATIC
    assert sized == (case[1] == "observe"), "unasked, the static request stands"


@pytest.mark.parametrize("case", MATRIX, ids=run_id)
def test_a_fault_costs_no_more_than_the_clients_deadline(outage: Outage, case: tuple[str, str]) -> None:
    assert outage.delay(case) < DEADLINE + SLACK


def test_the_delays_are_shown(outage: Outage, capsys: pytest.CaptureFixture[str]) -> None:
    delays = {case: outage.delay(case) for case in MATRIX}
    soon = sum(delay <= TARGET for delay in delays.values())
    blocked = sum(not launched.pods for launched in outage.faulty.values())
    with capsys.disabled():
        print(f"\n{len(delays)} outages: {blocked} launches blocked, {soon} delays of at most {TARGET} s")
        for (fault, side), delay in sorted(delays.items(), key=lambda item: -item[1]):
            print(f"  {delay:6.2f} s  {side:8}{fault}")
    assert blocked == 0


def test_reports_that_were_not_taken_come_later_and_once(outage: Outage) -> None:
    # Not those that a 404 answered: there, somebody says that he will never take them.
    late = [case for case in MATRIX if case[1] != "predict" and case[0] != "answers 404"]
    known = outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"]
    again = [Launch(f"again-{run_id(case)}", outage.server.url, run_id(case), POD) for case in late]
    assert not [one.error for one in outage.launches.run(*again) if one.error]
    after = outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"]
    one = {"dag_id": DAG_ID, "task_id": TASK_ID}
    missing = [case for case in late if not outage.server.heard("success", run_id=run_id(case), **one)]
    assert not missing
    assert after - known == 2 * len(late)


def test_after_an_oom_the_next_try_gets_more_without_a_server(outage: Outage) -> None:
    with nobody() as url:
        limits = []
        for number in (1, 2):
            hungry = Launch("hungry", url, "hungry", part(9 * GIB), try_number=number)
            (launched,) = outage.launches.run(hungry)
            limits.append(launched.pods[0].memory_limit or 0)
    assert limits[0] == STATIC < limits[1] <= 4 * STATIC
    assert launched.error is None


def test_a_pod_that_is_found_running_keeps_what_it_has(outage: Outage) -> None:
    with_room = part(need_of(500), seconds=10)
    (launched,) = outage.launches.run(Launch("found", outage.server.url, "found", with_room, found="5Gi"))
    assert launched.error is None
    assert [pod.name for pod in launched.pods] == ["found"]
    one = {"dag_id": DAG_ID, "task_id": TASK_ID, "run_id": "found", "try_number": 1}
    assert outage.server.heard("success", allocated={"memory_bytes": 5 * GIB}, **one)


def test_a_pod_that_is_found_killed_is_told_and_the_next_gets_more(outage: Outage) -> None:
    hungry = part(2 * GIB + 64 * MIB)  # more than its rows say
    case = Launch("left", outage.server.url, "left", hungry, found="2Gi", found_ended=True)
    (launched,) = outage.launches.run(case)
    assert launched.error is None
    left, made = launched.pods
    assert left.memory_limit == 2 * GIB < (made.memory_limit or 0)
    one = {"dag_id": DAG_ID, "task_id": TASK_ID, "run_id": "left", "try_number": 1}
    assert outage.server.heard("oom_killed", allocated={"memory_bytes": 2 * GIB}, **one)


def test_the_kill_switch_turns_everything_off(outage: Outage) -> None:
    known = outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"]
    off = Launch("off", outage.server.url, "off", POD, env={"LOADAWARE_DISABLED": "1"})
    (launched,) = outage.launches.run(off)
    assert launched.error is None
    assert launched.pods[0].memory_limit == STATIC
    assert outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"] == known


def test_a_whole_airflow_runs_with_a_server_that_hangs(world: World) -> None:
    done = world.airflow.wait("outage", "first")["work", -1]
    assert (done.state, done.tries) == ("success", 1)
    assert world.limits("outage", "work", "first") == [STATIC]
