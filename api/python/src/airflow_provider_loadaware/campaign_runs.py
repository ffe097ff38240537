"""Access of a campaign to Airflow from inside a running task: read a DAG, trigger a DAG run and read its state.

In Airflow 2 this module uses Airflow's database. In Airflow 3 it asks the supervisor of the task, so it needs no
password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from airflow_provider_loadaware._compat import AIRFLOW_3


@dataclass(frozen=True)
class DagInfo:
    """A parsed DAG.

    In Airflow 3.0 and 3.1 a task cannot read DAGs. There each DAG counts as parsed and unpaused, without versions.
    """

    is_paused: bool
    versions: frozenset[str]  # its tags and, in Airflow 3.2 and later, the version of its bundle


class Runs(Protocol):
    """The DAG runs of an Airflow deployment."""

    def dag(self, dag_id: str) -> DagInfo | None:
        """Return a DAG, or None if it is not parsed."""

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        """Start a run, unless it exists already."""

    def state(self, dag_id: str, run_id: str) -> str | None:
        """Return the state of a run, or None if it does not exist."""

    def task_states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str]:
        """Return the states of the tasks of a run by task id and map index. The index of an unmapped task is -1."""


def open_runs() -> Runs:
    """Return the DAG runs of this Airflow deployment."""
    return _SupervisorRuns() if AIRFLOW_3 else _DatabaseRuns()


class _SupervisorRuns:
    def dag(self, dag_id: str) -> DagInfo | None:
        from airflow.sdk.execution_time import comms

        if not hasattr(comms, "GetDag"):  # before 3.2; the trigger fails if there is no such DAG
            return DagInfo(is_paused=False, versions=frozenset())
        found = _ask(comms.GetDag(dag_id=dag_id), none_if=("DAG_NOT_FOUND",))
        if found is None:
            return None
        version = getattr(found, "bundle_version", None)
        names = {_name_of(tag) for tag in getattr(found, "tags", None) or ()} | ({version} if version else set())
        return DagInfo(is_paused=bool(found.is_paused), versions=frozenset(names))

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        from airflow.sdk.execution_time import comms

        _ask(comms.TriggerDagRun(dag_id=dag_id, run_id=run_id, conf=conf), none_if=("DAGRUN_ALREADY_EXISTS",))

    def state(self, dag_id: str, run_id: str) -> str | None:
        from airflow.sdk.execution_time import comms

        count = _ask(comms.GetDRCount(dag_id=dag_id, run_ids=[run_id]))
        if not count.count:  # GetDagRunState fails for a run that does not exist
            return None
        found = _ask(comms.GetDagRunState(dag_id=dag_id, run_id=run_id))
        return str(getattr(found.state, "value", found.state))

    def task_states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str]:
        # Airflow names an instance of a mapped task `<task id>_<map index>`. The id of another task may have that form.
        # So a second query asks only for the tasks whose ids are the parts before the index. Its answer names these
        # tasks, if they are not mapped, and their mapped instances.
        states = self._states(dag_id, run_id)
        ids = {task_id for task_id, index in map(_split_name, states) if index >= 0}
        mapped = self._states(dag_id, run_id, sorted(ids)) if ids else {}
        return {
            _split_name(name) if name in mapped and name not in ids else (name, -1): state
            for name, state in states.items()
        }

    @staticmethod
    def _states(dag_id: str, run_id: str, task_ids: list[str] | None = None) -> dict[str, str]:
        from airflow.sdk.execution_time import comms

        found = _ask(comms.GetTaskStates(dag_id=dag_id, run_ids=[run_id], task_ids=task_ids))
        states = found.task_states.get(run_id) or {}
        return {name: str(getattr(state, "value", state)) for name, state in states.items()}


def _split_name(name: str) -> tuple[str, int]:
    """Split `<task id>_<map index>`. Returns `name` and -1 if it has another form."""
    task_id, _, index = name.rpartition("_")
    return (task_id, int(index)) if task_id and re.fullmatch("[0-9]+", index) else (name, -1)


def _ask(message: Any, none_if: tuple[str, ...] = ()) -> Any:
    from airflow.sdk.exceptions import AirflowRuntimeError
    from airflow.sdk.execution_time import comms, task_runner

    try:
        answer = task_runner.SUPERVISOR_COMMS.send(message)
    except AirflowRuntimeError as error:
        answer = error.error
    if not isinstance(answer, comms.ErrorResponse):
        return answer
    if answer.error.name in none_if:
        return None
    raise RuntimeError(f"{type(message).__name__}: Airflow answered {answer.error.name}: {answer.detail}")


def _name_of(tag: Any) -> str:
    return str(getattr(tag, "name", tag))


class _DatabaseRuns:
    def dag(self, dag_id: str) -> DagInfo | None:
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session

        with create_session() as session:
            found = session.query(DagModel).filter(DagModel.dag_id == dag_id, DagModel.is_active).one_or_none()
            if found is None:
                return None
            return DagInfo(bool(found.is_paused), frozenset(_name_of(tag) for tag in found.tags))

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        from airflow.api.common.trigger_dag import trigger_dag
        from airflow.exceptions import DagRunAlreadyExists

        if self.state(dag_id, run_id) is not None:
            return
        try:
            # Airflow 2 allows one run per execution date, so the date keeps its microseconds.
            trigger_dag(dag_id, run_id=run_id, conf=conf, replace_microseconds=False)
        except DagRunAlreadyExists:
            if self.state(dag_id, run_id) is None:
                raise

    def state(self, dag_id: str, run_id: str) -> str | None:
        run = self._find(dag_id, run_id)
        return str(getattr(run.state, "value", run.state)) if run else None

    def task_states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str]:
        run = self._find(dag_id, run_id)
        instances = run.get_task_instances() if run else []
        return {(i.task_id, i.map_index): str(getattr(i.state, "value", i.state)) for i in instances}

    @staticmethod
    def _find(dag_id: str, run_id: str) -> Any:
        from airflow.models.dagrun import DagRun

        return next(iter(DagRun.find(dag_id=dag_id, run_id=run_id)), None)
