"""Callbacks for any operator: on_success_callback, on_failure_callback and on_retry_callback.

They report a success or a failure. For Kubernetes tasks they read the pod, and also report what the pod cannot show:
a launch timeout, a deleted pod, a stopped task.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow_provider_loadaware import pod_end
from airflow_provider_loadaware.report import End
from airflow_provider_loadaware.sizing import Options, Sizing, fail_open

log = logging.getLogger("airflow.task")


def on_success(context: Any) -> None:
    """Report a success; use as on_success_callback."""
    _finish(context, succeeded=True)


def on_failure(context: Any) -> None:
    """Report a final failure; use as on_failure_callback."""
    _finish(context, succeeded=False)


def on_retry(context: Any) -> None:
    """Report a failure before a retry; use as on_retry_callback."""
    _finish(context, succeeded=False)


def _finish(context: Any, *, succeeded: bool) -> None:
    with fail_open(log, "reporting"):
        end = _end(context, succeeded)
        if end is not None:
            Sizing(Options(), context, log).finish(end)


def _end(context: Any, succeeded: bool) -> End | None:
    task, error = context.get("task"), context.get("exception")
    if not hasattr(task, "base_container_name"):
        # The task has no pod, so neither its allocation nor its peak is known. The server rejects an OOM with neither,
        # so a task that runs out of memory is reported as failed.
        return End(pod=None, succeeded=succeeded, launched=False)
    pod, gone = getattr(task, "pod", None), pod_end.is_pod_lost(error)
    if pod is None and not gone and not succeeded:
        # After a worker crash, Airflow runs callbacks in a process that never had the pod. A later try that
        # finds the pod knows the real outcome, which a guess made here might contradict.
        return None
    end = pod_end.end_of(task, pod, error)
    end.succeeded = succeeded
    end.launched = end.launched or gone
    return end
