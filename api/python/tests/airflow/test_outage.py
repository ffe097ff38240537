"""Tests that each pod is launched despite a fault of loadaware. Without a prediction it has its static request.

Servers that hang or drip (send a byte at a time) do so until the client gives up, so a launch that ends shows that
the client timed out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from harness.environment import Environment, folder
from harness.faults import FAULTS, closed_port, faulty
from harness.launcher import DAG_ID, TASK_ID, Launch, Launcher, LaunchResult, start_launcher
from harness.loadaware import Loadaware
from scenarios import GIB, MIB, STATIC, need_of, script_env, training_runs

MAX_DELAY = 2.5  # documented bound of the delay in seconds
BOTH = ("predict", "observe")  # stages

# Each stage of a try, and the paths on which a fault of this stage is served.
PATHS = {"predict": ("/predict", "/retry-lift"), "observe": ("/observe",)}
ADDRESSES = {
    "refuses": None,  # a closed port
    "has an unknown name": "http://loadaware.invalid:80",
    "does not route": "http://192.0.2.1:80",
}
MATRIX = [(fault, stage) for fault in FAULTS for stage in PATHS] + [(fault, "both") for fault in ADDRESSES]
HEALTHY_EVERY = 5  # launches with a fault per launch without one
POD = script_env(need_of(500))


@dataclass(frozen=True)
class Outage:
    """The results of all launches of MATRIX, and the median result of the launches without a fault."""

    server: Loadaware
    launcher: Launcher
    healthy: LaunchResult
    faulty: dict[tuple[str, str], LaunchResult]

    def delay(self, case: tuple[str, str]) -> float:
        """Return the seconds that a fault added: until the pod's creation, or in total if only reporting failed."""
        result = self.faulty[case]
        if case[1] == "observe":
            return result.seconds - self.healthy.seconds
        assert result.until_pod is not None and self.healthy.until_pod is not None
        return result.until_pod - self.healthy.until_pod


def run_id(case: tuple[str, str]) -> str:
    return "-".join(case).replace(" ", "-")


@pytest.fixture(scope="module")
def outage() -> Iterator[Outage]:
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        server = Loadaware(path)
        stack.callback(server.stop)
        server.learn(DAG_ID, TASK_ID, training_runs())
        urls = {name: url or stack.enter_context(closed_port()) for name, url in ADDRESSES.items()}
        warm_up = Launch("warm-up", server.url, "warm-up", POD, long_timeouts=BOTH)
        launches = []
        for number, (fault, stage) in enumerate(MATRIX):
            if number % HEALTHY_EVERY == 0:  # spread, so that the load of the machine affects both kinds alike
                launches.append(Launch(f"healthy-{number}", server.url, f"healthy-{number}", POD, long_timeouts=BOTH))
            url = urls.get(fault) or stack.enter_context(faulty(fault, PATHS[stage], server.url))
            name = run_id((fault, stage))
            long_timeouts = ("predict",) if stage == "observe" else ()
            launches.append(Launch(name, url, name, POD, long_timeouts=long_timeouts))
        launcher = stack.enter_context(start_launcher(path))
        _, *results = launcher.run(warm_up, *launches)
        by_run = {launch.run_id: result for launch, result in zip(launches, results, strict=True)}
        healthy = sorted(
            (result for name, result in by_run.items() if name.startswith("healthy-")),
            key=lambda result: result.seconds,
        )
        faulty_results = {case: by_run[run_id(case)] for case in MATRIX}
        yield Outage(server, launcher, healthy[len(healthy) // 2], faulty_results)


def test_without_a_fault_the_model_sizes_the_pod(outage: Outage) -> None:
    assert outage.healthy.error is None, outage.launcher.log()[-4000:]
    assert (outage.healthy.pods[0].memory_limit or 0) < STATIC


@pytest.mark.parametrize("case", MATRIX, ids=run_id)
def test_no_launch_is_blocked(outage: Outage, case: tuple[str, str]) -> None:
    result = outage.faulty[case]
    assert result.error is None
    assert len(result.pods) == 1
    # Only a try whose prediction succeeds is sized.
    assert (result.pods[0].memory_limit != STATIC) == (case[1] == "observe")


def test_delays_are_printed(outage: Outage, capsys: pytest.CaptureFixture[str]) -> None:
    delays = {case: outage.delay(case) for case in MATRIX}
    within_bound = sum(delay <= MAX_DELAY for delay in delays.values())
    blocked = sum(not result.pods for result in outage.faulty.values())
    with capsys.disabled():
        print(f"\n{len(delays)} outages: {blocked} launches blocked, {within_bound} delays of at most {MAX_DELAY} s")
        for (fault, stage), delay in sorted(delays.items(), key=lambda item: -item[1]):
            print(f"  {delay:6.2f} s  {stage:8}{fault}")
    assert blocked == 0


def test_failed_reports_are_sent_later_and_once(outage: Outage) -> None:
    # Except 404: the client drops reports that the server rejects permanently.
    unreported = [case for case in MATRIX if case[1] != "predict" and case[0] != "answers 404"]
    before = outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"]
    again = [
        Launch(f"again-{run_id(case)}", outage.server.url, run_id(case), POD, long_timeouts=BOTH) for case in unreported
    ]
    assert not [result.error for result in outage.launcher.run(*again) if result.error]
    after = outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"]
    key = {"dag_id": DAG_ID, "task_id": TASK_ID}
    missing = [case for case in unreported if not outage.server.has_report("success", run_id=run_id(case), **key)]
    assert not missing
    assert after - before == 2 * len(unreported)


def test_after_an_oom_the_next_try_gets_more_without_a_server(outage: Outage) -> None:
    with closed_port() as url:
        limits = []
        for number in (1, 2):
            large = Launch("large", url, "large", script_env(9 * GIB), try_number=number)
            (result,) = outage.launcher.run(large)
            limits.append(result.pods[0].memory_limit or 0)
    assert limits[0] == STATIC < limits[1] <= 4 * STATIC
    assert result.error is None


def test_a_reattached_pod_keeps_its_memory(outage: Outage) -> None:
    running = script_env(need_of(500), waits=True)
    (result,) = outage.launcher.run(
        Launch("existing", outage.server.url, "existing", running, existing="5Gi", long_timeouts=BOTH)
    )
    assert result.error is None
    assert [pod.name for pod in result.pods] == ["existing"]
    key = {"dag_id": DAG_ID, "task_id": TASK_ID, "run_id": "existing", "try_number": 1}
    assert outage.server.has_report("success", allocated={"memory_bytes": 5 * GIB}, **key)


def test_an_unreported_kill_is_reported_and_lifted(outage: Outage) -> None:
    large = script_env(2 * GIB + 64 * MIB)  # more than any training run needs
    case = Launch(
        "leftover", outage.server.url, "leftover", large, existing="2Gi", existing_ended=True, long_timeouts=BOTH
    )
    (result,) = outage.launcher.run(case)
    assert result.error is None
    killed, created = result.pods
    assert killed.memory_limit == 2 * GIB < (created.memory_limit or 0)
    key = {"dag_id": DAG_ID, "task_id": TASK_ID, "run_id": "leftover", "try_number": 1}
    assert outage.server.has_report("oom_killed", allocated={"memory_bytes": 2 * GIB}, **key)


def test_loadaware_disabled_turns_everything_off(outage: Outage) -> None:
    before = outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"]
    off = Launch("off", outage.server.url, "off", POD, env={"LOADAWARE_DISABLED": "1"})
    (result,) = outage.launcher.run(off)
    assert result.error is None
    assert result.pods[0].memory_limit == STATIC
    assert outage.server.get(f"/tasks/{DAG_ID}/{TASK_ID}")["observations"] == before


def test_a_deployment_runs_with_a_hanging_server(environment: Environment) -> None:
    done = environment.airflow.wait("outage", "first")["work", -1]
    assert (done.state, done.tries) == ("success", 1)
    assert environment.limits("outage", "work", "first") == [STATIC]
