"""Names that Airflow 2.11 and Airflow 3 define in different modules."""

from __future__ import annotations

from typing import Any

try:
    from airflow.sdk import BaseHook, BaseOperatorLink, get_current_context
    from airflow.sdk.execution_time.xcom import XCom

    AIRFLOW_3 = True
except ImportError:
    from airflow.hooks.base import BaseHook
    from airflow.models import XCom
    from airflow.models.baseoperatorlink import BaseOperatorLink
    from airflow.operators.python import get_current_context

    AIRFLOW_3 = False

__all__ = ["AIRFLOW_3", "BaseHook", "BaseOperatorLink", "XCom", "current_context"]


def current_context() -> Any | None:
    """Return the context of the task that runs in this process, or None if no task runs."""
    try:
        return get_current_context()
    except Exception:  # noqa: BLE001 - the exception for a missing context depends on the version of Airflow
        return None
