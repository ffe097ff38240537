"""What Airflow 2.11 and 3 keep in different places."""

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
    """The context of the task that runs in this process; None where none does."""
    try:
        return get_current_context()
    except Exception:  # noqa: BLE001 - each major has its own way to say that there is none
        return None
