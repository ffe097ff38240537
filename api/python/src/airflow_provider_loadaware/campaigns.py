"""The DAGs that reproduce the runs of campaigns.

    from airflow_provider_loadaware.campaigns import loadaware_campaign_dags

    scheduler, maintainer = loadaware_campaign_dags()

The scheduler DAG has six branches that run side by side: three triggers take runs in the states 0, 17 and 37, and
three checks take runs in the states 11, 31 and 51 (docs/campaigns.md describes the states). A pass is the first
scheduled DAG run of an interval, or a DAG run off the schedule, such as one that a person triggers. In the other
scheduled DAG runs the branches do nothing. The maintainer DAG releases expired leases and logs stuck runs; it
restarts and deletes nothing. A change of these Airflow Variables applies from the next pass on:

    loadaware_campaign_interval_seconds ... seconds between two passes; default 60
    loadaware_campaign_deployments ........ deployments of a campaign at a time; default 2
    loadaware_campaign_runs ............... DAG runs of a campaign at a time; default 2
    loadaware_campaign_profilings ......... profilings of a campaign at a time; default 5
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from airflow_provider_loadaware import settings
from airflow_provider_loadaware._compat import AIRFLOW_3
from airflow_provider_loadaware.campaign_branches import Campaigns, Check, Hooks, Json, Step
from airflow_provider_loadaware.campaign_runs import open_runs
from airflow_provider_loadaware.hooks import LoadawareHook

if AIRFLOW_3:
    from airflow.providers.standard.operators.python import PythonOperator
    from airflow.sdk import DAG, Variable
else:
    from airflow.models import DAG, Variable
    from airflow.operators.python import PythonOperator

INTERVAL = "loadaware_campaign_interval_seconds"
PARALLELISM = {
    "deploy": ("loadaware_campaign_deployments", 2),
    "run": ("loadaware_campaign_runs", 2),
    "profile": ("loadaware_campaign_profilings", 5),
}
BRANCHES = ("trigger_deploy", "check_deploy", "trigger_run", "check_run", "trigger_profile", "check_profile")


def loadaware_campaign_dags(
    *,
    scheduler_dag_id: str = "loadaware_campaigns",
    maintainer_dag_id: str = "loadaware_campaigns_maintainer",
    loadaware_conn_id: str | None = None,
    deploy: Step | None = None,
    is_deployed: Check | None = None,
    profile: Step | None = None,
    pod_tasks: Sequence[str] = (),
    profile_timeout: timedelta = timedelta(hours=1),
    stuck_after: timedelta = timedelta(hours=6),
    on_stuck: Callable[[list[Json]], None] | None = None,
    tick: timedelta = timedelta(minutes=1),
    lease: timedelta = timedelta(minutes=5),
    **dag_arguments: Any,
) -> tuple[Any, Any]:
    """Return the scheduler and the maintainer DAG.

    `tick` is the schedule of the scheduler DAG, so the interval between passes cannot be shorter. A pass that does
    not report a run within `lease` loses the run to the next pass. `on_stuck` gets the claimed and the active runs
    whose state has not changed for `stuck_after`. campaign_branches.Hooks describes the steps and their settings.
    """
    conn_id = loadaware_conn_id or settings.get("conn_id", LoadawareHook.default_conn_name)
    hooks = Hooks(
        deploy=deploy,
        is_deployed=is_deployed,
        profile=profile,
        pod_tasks=tuple(pod_tasks),
        profile_timeout=profile_timeout,
        pools=settings.campaign_pools(),
    )
    arguments = {"start_date": datetime(2024, 1, 1, tzinfo=timezone.utc), "catchup": False, "max_active_runs": 1}
    arguments |= {"tags": ["loadaware"], **dag_arguments}
    with DAG(scheduler_dag_id, schedule=tick, **arguments) as scheduler:
        for branch in BRANCHES:
            PythonOperator(
                task_id=branch,
                python_callable=partial(_pass, branch, conn_id, hooks, tick, lease),
                max_active_tis_per_dag=1,
            )
    with DAG(maintainer_dag_id, schedule=timedelta(minutes=5), **arguments) as maintainer:
        PythonOperator(
            task_id="maintain", python_callable=partial(_maintain, conn_id, hooks, lease, stuck_after, on_stuck)
        )
    return scheduler, maintainer


def _pass(branch: str, conn_id: str, hooks: Hooks, tick: timedelta, lease: timedelta, **context: Any) -> int | None:
    if not _is_due(context, tick):
        return None
    # A check takes all active runs, up to the server's maximum: a lowered Variable limits only new runs.
    is_check = branch.startswith("check")
    limit = 1000 if is_check else read_variable(*PARALLELISM[branch.partition("_")[2]])
    if limit < 1:
        return 0
    return _open(conn_id, hooks, lease).run_pass(branch, limit)


def _maintain(
    conn_id: str,
    hooks: Hooks,
    lease: timedelta,
    stuck_after: timedelta,
    on_stuck: Callable[[list[Json]], None] | None,
    **_: Any,
) -> int:
    stuck = _open(conn_id, hooks, lease).maintain(stuck_after)
    if stuck and on_stuck:
        on_stuck(stuck)
    return len(stuck)


def _open(conn_id: str, hooks: Hooks, lease: timedelta) -> Campaigns:
    hook = LoadawareHook(conn_id)
    namespace = settings.get("namespace") or str(hook.extras.get("namespace") or "default")
    return Campaigns(hook.get_conn(), open_runs(), namespace, hooks, lease)


def _is_due(context: Any, tick: timedelta) -> bool:
    """Return whether an interval began since the previous run of the DAG. Runs off the schedule are always due.

    The previous run may be older than a tick, because Airflow skips ticks while it is busy or stopped.
    """
    dag_run = context["dag_run"]
    if str(getattr(dag_run.run_type, "value", dag_run.run_type)) != "scheduled":
        return True
    at = _date_of(dag_run)
    find_previous = getattr(context["ti"], "get_previous_dagrun", None)  # early releases of Airflow 3 lack it
    previous = find_previous() if find_previous else None
    before = _date_of(previous) if previous else at - tick
    interval = max(read_variable(INTERVAL, 60), 1)
    return int(at.timestamp() // interval) != int(before.timestamp() // interval)


def _date_of(dag_run: Any) -> datetime:
    date: datetime = getattr(dag_run, "logical_date", None) or dag_run.run_after
    return date


def read_variable(name: str, default: int) -> int:
    """Return a whole number from an Airflow Variable, or `default` if the Variable is not set."""
    return int(Variable.get(name, **{"default" if AIRFLOW_3 else "default_var": default}))
