"""Callbacks for any operator, to be given as on_success_callback, on_failure_callback and on_retry_callback.

They tell how a try ended, as far as its exception says. For Kubernetes tasks they add the ends that the pod's
own report cannot see: a launch that timed out, a pod that is gone, a task that was stopped. A pod that this
process knows nothing of is left to the one that does.
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
        end = _end(context, succeeded)
        if end is not None:
            Sizing(Options(), context, log).finish(end)


def _end(context: Any, succeeded: bool) -> End | None:
    task, error = context.get("task"), context.get("exception")
    if not hasattr(task, "base_container_name"):
        return _ProcessEnd(error, succeeded)
    pod, gone = getattr(task, "pod", None), watch.tells_of_a_lost_pod(error)
    if pod is None and not gone and not succeeded:
        # Airflow also calls back for a worker that died, from a process that never saw its pod. A try that
        # finds the pod says more than a guess, and would then contradict it.
        return None
    end = watch.end_of(task, pod, error)
    end.succeeded = succeeded
    end.launched = end.launched or gone
    return end


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
