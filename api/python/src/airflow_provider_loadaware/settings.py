"""The section [loadaware] of airflow.cfg, and AIRFLOW__LOADAWARE__<KEY> in the environment.

    conn_id ......... connection to use; loadaware_default
    namespace ....... tells Airflow deployments apart; "default", or what the connection says
    feature_keys .... globs of dag_run.conf that may be sent, beside declared params; none
    max_memory ...... most that is ever granted, such as "384Gi"; no bound
    state_dir ....... folder for what processes tell each other; $AIRFLOW_HOME/loadaware
    policy_allow .... globs of dag_id.task_id that the policy sizes; none
    policy_deny ..... globs that it leaves alone; none

LOADAWARE_DISABLED=1 turns all of it off.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow_provider_loadaware import state


def disabled() -> bool:
    """Whether the kill switch is thrown. Anything but an explicit no throws it."""
    return os.environ.get("LOADAWARE_DISABLED", "").strip().lower() not in ("", "0", "false", "no", "off")


def get(key: str, default: str = "") -> str:
    """A setting, stripped."""
    from airflow.configuration import conf

    return str(conf.get("loadaware", key, fallback=default) or default).strip()


def names(key: str) -> list[str]:
    """A setting that is a list, separated by commas."""
    return [name.strip() for name in get(key).split(",") if name.strip()]


def state_folder() -> Path | None:
    """Where processes of this machine tell each other something; None if nowhere can be written."""
    home = os.environ.get("AIRFLOW_HOME") or "~/airflow"
    return state.open_folder(Path(get("state_dir") or f"{home}/loadaware").expanduser())
