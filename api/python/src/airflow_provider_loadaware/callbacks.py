"""Callbacks for any operator: on_success_callback, on_failure_callback and on_retry_callback.

They report the outcome of a try, as far as its exception shows it. For Kubernetes tasks they also report what
the pod cannot show: a launch timeout, a deleted pod, a stopped task. A process that never had the pod reports
nothing; the process that finds the pod reports its end.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow_provider_loadaware import pod_end
from airflow_provider_loadaware.outcome import Outcome, reports_out_of_memory
from airflow_provider_loadaware.peak import Peak
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
        return _ProcessEnd(error, succeeded)
    pod, gone = getattr(task, "pod", None), pod_end.is_pod_lost(error)
    if pod is None and not gone and not succeeded:
        # After a worker crash, Airflow runs callbacks in a process that never had the pod. A later try that
        # finds the pod knows the real outcome, which a guess made here might contradict.
        return None
    end = pod_end.end_of(task, pod, error)
    end.succeeded = succeeded
    end.launched = end.launched or gone
    return end


class _ProcessEnd(End):
    """The end of a task that runs in the worker process; only its exception is known."""

    def __init__(self, error: Any, succeeded: bool) -> None:
        super().__init__(pod=None, succeeded=succeeded)
        self._error = error

    def _classify(self, measured: Peak) -> Outcome:
        if self.succeeded:
            return Outcome.SUCCESS
        if isinstance(self._error, MemoryError) or reports_out_of_memory(f"{self._error!r}"):
            return Outcome.APP_OOM
        return Outcome.FAILED
