"""Inserts finished runs of the DAG `history` into Airflow's database: python -m harness.history_seed RUNS [PASSWORD].

It uses Airflow's own models. On Airflow 2 it also creates a read-only user `reader`.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.models.renderedtifields import RenderedTaskInstanceFields, get_serialized_template_fields
from airflow.models.taskinstancehistory import TaskInstanceHistory
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from airflow.utils.types import DagRunType

from harness.deployment import MAJOR, TESTS
from scenarios import HISTORY_DAG, HistoryRun, history_runs

PARTS = 2
FIRST_START = datetime(2025, 3, 1, 6, tzinfo=timezone.utc)


def main() -> None:
    runs = history_runs(int(sys.argv[1]))
    with create_session() as session:
        dag, parsed = _dag(session)
        for run in runs:
            _insert_run(session, dag, parsed, run)
        session.commit()
    if MAJOR < 3:
        _create_reader(sys.argv[2])


def _dag(session: Any) -> tuple[Any, Any]:
    """Return the DAG as stored by Airflow 3, and as parsed from its file; on Airflow 2 both are the parsed DAG."""
    folder = str(TESTS / "history")
    if MAJOR < 3:
        from airflow.models.dagbag import DagBag

        bag = DagBag(folder, include_examples=False, read_dags_from_db=False)
        bag.sync_to_db(session=session)
        return bag.dags[HISTORY_DAG], bag.dags[HISTORY_DAG]
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
    from airflow.models.serialized_dag import SerializedDagModel

    DagBundlesManager().sync_bundles_to_db(session=session)
    session.commit()
    bag = BundleDagBag(folder, bundle_path=TESTS / "history", bundle_name="dags-folder")
    sync_bag_to_db(bag, "dags-folder", bundle_version=None, session=session)
    session.commit()
    return SerializedDagModel.get_dag(HISTORY_DAG, session=session), bag.dags[HISTORY_DAG]


def _insert_run(session: Any, dag: Any, parsed: Any, run: HistoryRun) -> None:
    start = FIRST_START + timedelta(hours=run.number)
    dag_run = _create_run(session, dag, run, start)
    dag_run.start_date, dag_run.end_date = start, start + timedelta(minutes=30)
    session.flush()
    for instance in dag_run.get_task_instances(session=session):
        session.delete(instance)  # replace the instances that Airflow created with finished ones
    session.flush()
    for task_id, map_index in [("begin", -1), ("work", -1), *(("part", index) for index in range(PARTS))]:
        states = run.states if task_id == "work" else [run.state if task_id == "part" else "success"]
        _insert_instance(session, dag, parsed, dag_run, start, task_id, map_index, states)


def _create_run(session: Any, dag: Any, run: HistoryRun, start: datetime) -> Any:
    arguments: dict[str, Any] = {
        "run_id": run.run_id,
        "conf": run.conf,
        "run_type": DagRunType.MANUAL,
        "state": DagRunState(run.state),
        "data_interval": (start, start),
        "session": session,
    }
    if MAJOR < 3:
        return dag.create_dagrun(execution_date=start, external_trigger=True, **arguments)
    from airflow.utils.types import DagRunTriggeredByType

    return dag.create_dagrun(
        logical_date=start, run_after=start, triggered_by=DagRunTriggeredByType.REST_API, **arguments
    )


def _insert_instance(
    session: Any, dag: Any, parsed: Any, run: Any, start: datetime, task_id: str, map_index: int, states: list[str]
) -> None:
    """Insert a task instance as it is after its last try, and its earlier tries as its history."""
    from airflow.models.taskinstance import TaskInstance

    task = dag.get_task(task_id)
    more = {"dag_version_id": run.created_dag_version_id} if MAJOR >= 3 else {}
    instance = TaskInstance(task, run_id=run.run_id, map_index=map_index, **more)
    instance.operator = task.task_type
    for number, state in enumerate(states, start=1):
        instance.try_number = number
        instance.start_date = start + timedelta(minutes=number)
        instance.end_date = instance.start_date + timedelta(seconds=50 + number)
        instance.duration = 50.0 + number
        instance.state = TaskInstanceState(state)
        if number < len(states):
            if number == 1:
                session.add(instance)
                session.flush()
            TaskInstanceHistory.record_ti(instance, session=session)
            session.flush()
            if MAJOR >= 3:
                instance.id = _next_id()
    session.add(instance)
    session.flush()
    if task_id != "begin":
        operator = parsed.get_task(task_id)
        operator = operator.unmap({"arguments": ["a"]}) if map_index >= 0 else operator
        instance.task = operator if MAJOR < 3 else task
        fields = get_serialized_template_fields(task=operator)
        session.add(RenderedTaskInstanceFields(instance, render_templates=False, rendered_fields=fields))
    session.flush()


def _next_id() -> Any:
    import uuid6

    return uuid6.uuid7()


def _create_reader(password: str) -> None:
    """Create a user with only the permissions that an import needs."""
    from airflow.providers.fab.auth_manager.cli_commands.utils import get_application_builder

    with get_application_builder() as builder:
        users = builder.sm
        role = users.add_role("Importer")
        for resource in ("DAGs", "DAG Runs", "Task Instances"):
            users.add_permission_to_role(role, users.create_permission("can_read", resource))
        assert users.add_user("reader", "A", "Reader", "reader@example.org", role, password)


if __name__ == "__main__":
    main()
