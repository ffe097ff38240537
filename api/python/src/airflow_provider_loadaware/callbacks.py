"""Callbacks for any operator, to be given as on_success_callback, on_failure_callback and on_retry_callback.

They tell how a try ended, as far as its exception says. For Kubernetes tasks they add the ends that the pod's
own report cannot see: a launch that timed out, a pod that is gone, a task that was stopped.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow_provider_loadaware import watch
from airflow_provider_loadaware.outcome import Outcome, says_out_of_memory
from airflow_provider_loadaware.peak import Peak
from airflow_provider_loadaware.report import End
from airflow_provider_loadaware.sizing import Options, Sizing, fail_open

log = logging.getLogger("airflow.task")


def on_success(context: Any) -> None:
    """For on_success_callback."""
    _finish(context, succeeded=True)


def on_failure(context: Any) -> None:
    """For on_failure_callback."""
    _finish(context, succeeded=False)


def on_retry(context: Any) -> None:
    """For on_retry_callback."""
    _finish(context, succeeded=False)


def _finish(context: Any, *, succeeded: bool) -> None:
    with fail_open(log, "reporting"):
        Sizing(Options(), context, log).finish(_end(context, succeeded))


def _end(context: Any, succeeded: bool) -> End:
    task, error = context.get("task"), context.get("exception")
    pod = getattr(task, "pod", None)
    if pod is not None:
        end = watch.end_of(task, pod, error)
        end.succeeded = succeeded
        return end
    return _ProcessEnd(error, succeeded)


class _ProcessEnd(End):
    """The end of a task that is a process of the worker, of which only the exception is known."""

    def __init__(self, error: Any, succeeded: bool) -> None:
        super().__init__(pod=None, succeeded=succeeded)
        self._error = error

    def _seen(self, measured: Peak) -> Outcome:
        if self.succeeded:
            return Outcome.SUCCESS
        if isinstance(self._error, MemoryError) or says_out_of_memory(f"{self._error!r}"):
            return Outcome.APP_OOM
        return Outcome.FAILED
