"""Reproduces the runs of a campaign on Airflow while the service, PostgreSQL and the scheduler are killed repeatedly.

python -m trial --help lists the options. The trial checks that every run becomes profiled (the peak of each of its
tasks is known), that no DAG run is repeated, that the parallelism is never exceeded, that changed Variables are obeyed,
and that a reset repairs each failed state. With --minutes it may end before all runs are profiled; then it checks only
the DAG runs so far, the peaks of the profiled runs and the parallelism.
"""

from __future__ import annotations

import argparse
import http.client
import math
import signal
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fake_kubernetes import Cluster, serve, write_kubeconfig
from harness.deployment import TESTS, Airflow
from harness.environment import Environment, connection, folder
from harness.loadaware import Loadaware
from harness.planner import Planner
from harness.waiting import wait_for
from trial import checks, pipeline
from trial.crashes import Crashes
from trial.settings import Settings

Json = dict[str, Any]
RESETS = {15: 0, 35: 17, 55: 37}  # a failed state, and the state from which the run is repeated
MAX_RUNS = 1000  # of one page of the API
STALL_TIMEOUT = 900  # seconds without progress after which the trial fails
UNAVAILABLE = (OSError, http.client.HTTPException)  # while the service or its PostgreSQL starts again


@dataclass
class Trial:
    """A running campaign and what has happened so far.

    While the file `problem` exists, one profiling fails. `progress` is the number of runs by state.
    """

    environment: Environment
    crashes: Crashes
    settings: Settings
    runs: int
    problem: Path
    path: str = ""
    failures: list[str] = field(default_factory=list)
    progress: Counter[int] = field(default_factory=Counter)

    def register(self, first: int, last: int) -> None:
        """Register archived runs by number, inclusive. A repeated registration adds nothing."""
        archived = [pipeline.archived_run(number) for number in range(first, last + 1)]
        self.environment.loadaware.post(f"{self.path}/runs", {"runs": archived})

    def create_campaign(self) -> None:
        """Create the campaign with all runs. Its DAG is paused at first, so that the first deployment fails."""
        airflow, server = self.environment.airflow, self.environment.loadaware
        created = {"name": "trial", "dag_id": pipeline.DAG, "conf": {"sandbox": True}}
        self.path = f"/campaigns/{server.post('/campaigns', created)['id']}"
        airflow.pause(pipeline.DAG, paused=True)
        self.register(pipeline.FAILS_TO_DEPLOY, pipeline.FAILS_TO_DEPLOY)
        wait_for("a failed deployment", lambda: self.read_runs()[0]["state"] == 15, seconds=600, every=1)
        airflow.pause(pipeline.DAG, paused=False)
        self.register(1, self.runs)

    def read_runs(self) -> list[Json]:
        runs: list[Json] = self.environment.loadaware.get(f"{self.path}/runs?limit={MAX_RUNS}")["runs"]
        return runs

    def try_to_read_runs(self) -> list[Json] | None:
        """Return the runs, or None while the service starts again."""
        with suppress(*UNAVAILABLE):
            return self.read_runs()
        return None

    def step(self) -> bool:
        """Set due Variables, carry out a due kill, and reset failed runs. Returns whether all runs are profiled."""
        pods = len(self.environment.cluster.history)
        self.settings.apply(pods / self.crashes.pods)
        self.crashes.crash(pods)
        runs = self.read_runs()
        for run in runs:
            if run["state"] in RESETS:
                self.reset(run)
        self.progress = Counter(run["state"] for run in runs)
        return self.progress == {checks.PROFILED: self.runs}

    def reset(self, run: Json) -> None:
        """Reset a failed run, as a person does. If its profiling failed, first repair the cause."""
        if run["state"] == 55:
            self.problem.unlink(missing_ok=True)
        self.environment.loadaware.post(f"{self.path}/runs/{run['n']}/reset", {"to": RESETS[run["state"]]})
        self.failures.append(f"run {run['n']}, attempt {run['attempt']}, {run['state_name']}: {run['notes']}")

    def finish(self, minutes: float) -> None:
        """Wait until all runs are profiled, at most for a number of minutes. Prints the progress."""
        last, changed, printed = "", time.monotonic(), 0.0
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            with suppress(*UNAVAILABLE):
                if self.step():
                    return
            state = f"{len(self.environment.cluster.history)} pods, states {dict(sorted(self.progress.items()))}"
            if state != last:
                last, changed = state, time.monotonic()
            if time.monotonic() > printed + 30:
                printed = time.monotonic()
                print(f"{time.strftime('%T')} {state}, kills {dict(self.crashes.done)}", flush=True)
            assert time.monotonic() < changed + STALL_TIMEOUT, f"no progress for {STALL_TIMEOUT} s: {state}"
            time.sleep(0.5)


def check(trial: Trial, seconds: float) -> None:
    environment, settings = trial.environment, trial.settings
    environment.airflow.stop()
    runs = wait_for("the service", trial.try_to_read_runs)
    profiled = sum(run["state"] == checks.PROFILED for run in runs)
    peaks = checks.check_runs(environment, trial.path, runs)
    assert peaks == profiled * len(pipeline.TASKS)
    used = environment.loadaware.get(trial.path)["used"]["runs"]
    assert used == sum(checks.started_attempts(run) for run in runs)
    most = checks.check_parallelism(environment.airflow, settings)
    print(f"{profiled} of {trial.runs} runs profiled in {seconds / 60:.1f} minutes; kills {dict(trial.crashes.done)}")
    print(f"{used} DAG runs, none repeated; {peaks} peaks = {profiled} runs x {len(pipeline.TASKS)} tasks")
    pods = len(environment.cluster.history)
    print(f"{pods} pods; most concurrent DAG runs by parallelism: {dict(sorted(most.items()))}")
    if profiled == trial.runs:
        slow = checks.check_variables(environment.airflow, settings, most)
        assert trial.crashes.pending() == 0, f"{trial.crashes.pending()} kills did not happen"
        provoked = [text for text in trial.failures if is_provoked(text)]
        assert len(provoked) == 3, trial.failures
        print(f"{slow} passes while the time between two passes was set to its largest value")
        print("each interval of this length had at most one pass")
    for text in trial.failures:
        print(f"reset: {text}" + ("" if is_provoked(text) else " (not provoked)"))


def is_provoked(failure: str) -> bool:
    """Return whether the trial caused the failure of a run on purpose."""
    steps = {
        pipeline.FAILS_TO_DEPLOY: "deployment failed",
        pipeline.FAILS_TO_RUN: "run failed",
        pipeline.FAILS_TO_PROFILE: "profiling failed",
    }
    return any(failure.startswith(f"run {number}, attempt 1, {step}") for number, step in steps.items())


def run(runs: int, kills: int, seed: int, tick: int, minutes: float) -> None:
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        server = Loadaware(path)
        stack.callback(server.stop)
        cluster = Cluster()
        kubernetes = stack.enter_context(serve(cluster))
        problem, home = path / "problem", path / "airflow"
        problem.touch()
        home.mkdir()
        settings = {
            "KUBECONFIG": str(write_kubeconfig(path / "kubeconfig.json", kubernetes)),
            "AIRFLOW_CONN_LOADAWARE_DEFAULT": connection(server.url),
            pipeline.PROBLEM: str(problem),
            pipeline.TICK: str(tick),
            "AIRFLOW__LOADAWARE__STATE_DIR": str(path / "state"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(TESTS / "trial" / "dags"),
            "AIRFLOW__CORE__PARALLELISM": "8",
            "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "8",
            # Seconds until a killed scheduler counts as dead, and between two checks that take over its tasks.
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "20",
            "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
            # Seconds without a heartbeat after which a task counts as dead (Airflow 3, Airflow 2).
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "180",
            "AIRFLOW__SCHEDULER__SCHEDULER_ZOMBIE_TASK_THRESHOLD": "180",
        }
        airflow = Airflow(home, settings)
        stack.callback(airflow.stop)
        airflow.start()
        trial = Trial(
            environment=Environment(server, airflow, cluster, Planner(server.url)),  # no task of the trial has a plan
            crashes=Crashes(server, airflow, runs * len(pipeline.TASKS), kills, seed),
            settings=Settings(airflow, tick),
            runs=runs,
            problem=problem,
        )
        try:
            airflow.wait_for_dags({pipeline.DAG, pipeline.SCHEDULER, pipeline.MAINTAINER})
            begun = time.monotonic()
            trial.create_campaign()
            trial.finish(minutes)
            check(trial, time.monotonic() - begun)
        except BaseException:
            print("\n".join(trial.failures))
            print(airflow.output())
            raise


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="python -m trial", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=380, help="number of archived runs, 3 to 1000")
    parser.add_argument("--kills", type=int, default=20, help="kills of each: service, scheduler and PostgreSQL")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random order and times of the kills")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after this time at the latest")
    parser.add_argument("--tick", type=int, default=10, help="seconds between two runs of the scheduler DAG")
    arguments = parser.parse_args()
    if not pipeline.FAILS_TO_PROFILE <= arguments.runs <= MAX_RUNS:
        parser.error(f"--runs must be {pipeline.FAILS_TO_PROFILE} to {MAX_RUNS}")
    run(arguments.runs, arguments.kills, arguments.seed, arguments.tick, arguments.minutes)


if __name__ == "__main__":
    main()
