"""The section [loadaware] of airflow.cfg, and AIRFLOW__LOADAWARE__<KEY> in the environment.

    conn_id ......... the connection; default loadaware_default
    namespace ....... distinguishes Airflow deployments; default that of the connection, else "default"
    ui_url .......... base URL of the dashboard, for its views in Airflow 3.1 and later; default none
    feature_keys .... globs of names in dag_run.conf that may be sent besides declared params; default none
    send_metadata ... whether to send the operator, image, owner and so on of a task; default true
    max_memory ...... upper bound of grants, such as "384Gi", for operators that set none; default none
    state_dir ....... folder that processes share; default $AIRFLOW_HOME/loadaware
    policy_allow .... globs of dag_id.task_id that Airflow's cluster policy sizes; default none
    policy_deny ..... globs of dag_id.task_id that it does not size; default none. The pod annotation
        loadaware.io/enabled overrides both
    timeout_risk .... share of healthy runs that a timeout set by size_timeout may stop; default 0.01
    campaign_pools .. whether tasks of reproduced runs get the Airflow pool of their campaign; default false
    synchronous_limits ... whether the memory limit of a synchronous task follows its plan; default false: only the
        requests follow it

LOADAWARE_DISABLED=1 turns sizing, measuring and reporting off.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow_provider_loadaware import state


def is_disabled() -> bool:
    """Return whether LOADAWARE_DISABLED is set to anything except an explicit no or an empty text."""
    return os.environ.get("LOADAWARE_DISABLED", "").strip().lower() not in ("", "0", "false", "no", "off")


def get(key: str, default: str = "") -> str:
    """Return a setting without surrounding whitespace."""
    from airflow.configuration import conf

    return str(conf.get("loadaware", key, fallback=default) or default).strip()


def names(key: str) -> list[str]:
    """Return a setting that is a comma-separated list."""
    return [name.strip() for name in get(key).split(",") if name.strip()]


def campaign_pools() -> bool:
    """Return whether Airflow's cluster policy moves tasks of reproduced runs to the Airflow pool of their campaign."""
    return get("campaign_pools").lower() in ("1", "true", "yes", "on")


def synchronous_limits() -> bool:
    """Return whether the memory limit of a synchronous task follows its plan.

    If the worker is lost, no process replaces it until the next try. A limit that follows the plan then stops growing.
    """
    return get("synchronous_limits").lower() in ("1", "true", "yes", "on")


def is_off(value: object) -> bool:
    """Return whether a value of a setting or of a connection's extra turns something off."""
    return str(value).strip().lower() in ("0", "false", "no", "off")


def state_folder() -> Path | None:
    """Return the folder that processes of this machine share, or None if no folder is writable."""
    home = os.environ.get("AIRFLOW_HOME") or "~/airflow"
    return state.open_folder(Path(get("state_dir") or f"{home}/loadaware").expanduser())
