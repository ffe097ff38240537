"""The six branches of a campaign: each claims the runs in one state, does a step, and reports their next state.

A campaign reproduces archived runs of a DAG in a sandbox; each run of the campaign reproduces one archived run.
Every step must be safe to repeat: if a worker dies, its lease expires, and the next worker does the same step
again. This module uses Airflow only through campaign_runs.

docs/campaigns.md describes the states of a run. A branch reports one of these, with notes:

    11, 31, 51 ... a deployment, a DAG run or a profiling is active
    15, 35, 55 ... the deployment, the DAG run or the profiling failed
    17, 37, 57 ... the deployment, the DAG run or the profiling succeeded

If a check or the trigger of a DAG run raises, as it does while Airflow does not answer, the next pass repeats it. The
notes of the run count such errors in a row. MAX_ERRORS errors in a row fail the run, and a NotDeployedError fails it at
once.
"""

from __future__ import annotations

import fnmatch
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow_provider_loadaware.campaign_runs import Runs
from airflow_provider_loadaware.features import clean
from airflow_provider_loadaware.service import RejectedError, Service

log = logging.getLogger(__name__)
Json = dict[str, Any]
POOL = "loadaware_pool"  # the key of the conf that names the pool of the campaign
SUCCESS, FAILED = "success", "failed"
MAX_ERRORS = 10  # errors in a row that fail a run; a larger number would show a lasting problem later
# The state in which the next pass repeats a step that raised. The other steps only call functions of the user.
_REPEAT_STATE = {"check_deploy": 11, "trigger_run": 17, "check_run": 31, "check_profile": 51}
_ERROR = re.compile(r"error (\d+) of \d+: ")


@dataclass(frozen=True)
class Reproduction:
    """A claimed run, which reproduces an archived run."""

    campaign: int
    number: int
    dag_id: str
    run_id: str
    conf: Json
    scenario: str
    execution_date: str
    version: str | None  # the version of the DAG that the campaign requires
    pool: str | None
    state: int
    attempt: int
    changed_at: datetime
    notes: str  # of the last report

    @property
    def errors(self) -> int:
        """The number of errors in a row until now."""
        found = _ERROR.match(self.notes)
        return int(found[1]) if found else 0


Step = Callable[[Reproduction], None]
Check = Callable[[Reproduction], bool]


@dataclass(frozen=True)
class Hooks:
    """Functions that replace steps, and settings of steps.

    If `deploy` or `profile` raises, the run fails with the error in its notes.
    """

    deploy: Step | None = None  # starts a deployment; nothing by default
    is_deployed: Check | None = None  # by default: the DAG is parsed, unpaused and has the required version
    profile: Step | None = None  # starts an import of the peaks; by default the pods report them
    pod_tasks: tuple[str, ...] = ()  # globs of tasks that need a peak if they succeed, besides all tasks with reports
    profile_timeout: timedelta = timedelta(hours=1)
    pools: bool = False  # whether Airflow sets the pool of a campaign; see settings.campaign_pools


class NotDeployedError(Exception):
    """The DAG cannot run."""


def read_time(text: str) -> datetime:
    """Parse a time of the server, which may have any number of decimals; Python 3.10 accepts none, three or six."""
    return datetime.fromisoformat(re.sub(r"\.(\d+)", lambda m: f".{m[1]:0<6.6}", text.replace("Z", "+00:00")))


@dataclass
class Campaigns:
    """The campaigns that one server stores, and the DAG runs of one Airflow."""

    service: Service
    runs: Runs
    namespace: str
    hooks: Hooks = field(default_factory=Hooks)
    lease: timedelta = timedelta(minutes=5)

    def active(self) -> list[Json]:
        """Return the campaigns of the namespace with runs that are not profiled, out of the newest 1000 campaigns."""
        found = self.service.request("GET", "/campaigns?limit=1000")["campaigns"]
        return [c for c in found if c["namespace"] == self.namespace and c["runs"] and c["progress"] < 1]

    def run_pass(self, branch: str, limit: int) -> int:
        """Claim runs of a branch in each active campaign, do the step for each run and report it.

        `limit` is the field `limit` of POST /campaigns/{campaign}/claim. Returns the number of claimed runs.
        """
        steps: dict[str, Callable[[Reproduction], tuple[int, str]]] = {
            "trigger_deploy": self._trigger_deploy,
            "check_deploy": self._check_deploy,
            "trigger_run": self._trigger_run,
            "check_run": self._check_run,
            "trigger_profile": self._trigger_profile,
            "check_profile": self._check_profile,
        }
        failed_state = {"deploy": 15, "run": 35, "profile": 55}[branch.partition("_")[2]]
        handled = 0
        for campaign in self.active():
            for run in self._claim(campaign["id"], branch, limit):
                try:
                    to, notes = steps[branch](run)
                    if run.errors and not notes:  # an empty text would keep the notes, and with them the count
                        notes = f"continued after {run.errors} errors"
                except Exception as error:  # noqa: BLE001 - the notes of the run show the error
                    to, notes = _after_error(branch, run, error, failed_state)
                self._report(run, to, notes)
                handled += 1
        return handled

    def maintain(self, stuck_after: timedelta) -> list[Json]:
        """Release expired leases. Returns the stuck runs."""
        stuck: list[Json] = []
        for campaign in self.active():
            path = f"/campaigns/{campaign['id']}/release"
            found = self.service.request("POST", path, {"stuck_after_seconds": stuck_after.total_seconds()})
            if found["released"]:
                log.info("campaign %s: released %d expired leases", campaign["id"], found["released"])
            for run in found["stuck"]:
                log.warning(
                    "campaign %s: run %s has been in state %s since %s: %s",
                    *(campaign["id"], run["n"], run["state_name"], run["changed_at"], run["notes"] or "no notes"),
                )
            stuck.extend(found["stuck"])
        return stuck

    def _claim(self, campaign: int, branch: str, limit: int) -> Iterator[Reproduction]:
        body = {"branch": branch, "limit": limit, "lease_seconds": self.lease.total_seconds()}
        answer = self.service.request("POST", f"/campaigns/{campaign}/claim", body)
        if answer["stopped"]:
            log.info("campaign %s is stopped: %s", campaign, answer["stopped"])
        for run in answer["runs"]:
            yield Reproduction(
                campaign=campaign,
                number=run["n"],
                dag_id=answer["dag_id"],
                run_id=run["dag_run_id"],
                conf=run["conf"] or {},
                scenario=run["scenario"],
                execution_date=run["execution_date"],
                version=answer["version"],
                pool=answer["pool"],
                state=run["state"],
                attempt=run["attempt"],
                changed_at=read_time(run["changed_at"]),
                notes=run["notes"] or "",
            )

    def _report(self, run: Reproduction, to: int, notes: str) -> None:
        body: Json = {"from": run.state, "to": to, "attempt": run.attempt, "notes": clean(notes)[:2000] or None}
        try:
            self.service.request("POST", f"/campaigns/{run.campaign}/runs/{run.number}/result", body)
        except RejectedError as error:
            if error.status != 409:
                raise
            log.info("campaign %s: run %s was changed meanwhile: %s", run.campaign, run.number, error)
            return
        log.info("campaign %s: run %s moved from state %d to %d %s", run.campaign, run.number, run.state, to, notes)

    def _trigger_deploy(self, run: Reproduction) -> tuple[int, str]:
        if self.hooks.deploy:
            self.hooks.deploy(run)
        return 11, ""

    def _check_deploy(self, run: Reproduction) -> tuple[int, str]:
        if self.hooks.is_deployed:
            return (17, "") if self.hooks.is_deployed(run) else (11, "")
        dag = self.runs.dag(run.dag_id)
        if dag is None:
            raise NotDeployedError(f"the DAG {run.dag_id} is not parsed; check its import errors")
        if dag.is_paused:
            raise NotDeployedError(f"the DAG {run.dag_id} is paused; unpause it")
        if run.version and run.version not in dag.versions:
            raise NotDeployedError(
                f"the campaign needs version {run.version} of {run.dag_id}, "
                f"but the version of its bundle and its tags are {sorted(dag.versions)}"
            )
        return 17, ""

    def _trigger_run(self, run: Reproduction) -> tuple[int, str]:
        conf = dict(run.conf)
        if run.pool:
            if not self.hooks.pools:
                raise NotDeployedError(
                    f"the campaign needs the pool {run.pool}, but Airflow sets none: "
                    "set campaign_pools in the section [loadaware] of its configuration"
                )
            conf[POOL] = run.pool
        self.runs.trigger(run.dag_id, run.run_id, conf)
        return 31, ""

    def _check_run(self, run: Reproduction) -> tuple[int, str]:
        state = self.runs.state(run.dag_id, run.run_id)
        if state == SUCCESS:
            return 37, ""
        if state == FAILED:
            states = self.runs.task_states(run.dag_id, run.run_id)
            failed = {task for task, task_state in states.items() if task_state == FAILED}
            return 35, f"the DAG run failed: {_names(failed) or 'no task failed'}"
        if state is None:
            return 35, f"the DAG run {run.run_id} does not exist any more"
        return 31, ""

    def _trigger_profile(self, run: Reproduction) -> tuple[int, str]:
        if self.hooks.profile:
            self.hooks.profile(run)
        return 51, ""

    def _check_profile(self, run: Reproduction) -> tuple[int, str]:
        path = f"/campaigns/{run.campaign}/runs/{run.number}/tasks"
        reported = self.service.request("GET", path)["tasks"]
        measured = {(t["task_id"], t["map_index"]) for t in reported if t["memory_max_bytes"]}
        awaited = {(t["task_id"], t["map_index"]) for t in reported}
        for (task, index), state in self.runs.task_states(run.dag_id, run.run_id).items():
            if state == SUCCESS and any(fnmatch.fnmatchcase(task, glob) for glob in self.hooks.pod_tasks):
                awaited.add((task, index))
        missing = _names(awaited - measured)
        if awaited and not missing:
            return 57, f"{len(measured)} tasks have a peak"
        why = f"without a peak: {missing}" if missing else "no task reported a try"
        if datetime.now(timezone.utc) - run.changed_at > self.hooks.profile_timeout:
            return 55, why
        return 51, why


def _after_error(branch: str, run: Reproduction, error: Exception, failed_state: int) -> tuple[int, str]:
    what = f"{type(error).__name__}: {error}"
    if branch not in _REPEAT_STATE or isinstance(error, NotDeployedError):
        return failed_state, what
    count = run.errors + 1
    return _REPEAT_STATE[branch] if count < MAX_ERRORS else failed_state, f"error {count} of {MAX_ERRORS}: {what}"


def _names(tasks: set[tuple[str, int]]) -> str:
    return ", ".join(task if index < 0 else f"{task}_{index}" for task, index in sorted(tasks))
