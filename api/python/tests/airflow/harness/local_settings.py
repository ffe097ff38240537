"""Airflow's local settings in the tests. airflow_local_settings imports this module in every process of Airflow."""

from __future__ import annotations

import gc
import importlib
import os
import sys

import airflow_provider_loadaware.pod_end
import airflow_provider_loadaware.resize_support
import airflow_provider_loadaware.service

# A try waits longer for loadaware and Kubernetes than in production, so that a busy machine does not look like an
# outage; test_outage tests the real timeouts of loadaware.
airflow_provider_loadaware.pod_end._TIMEOUT_SECONDS = 15.0
airflow_provider_loadaware.resize_support.PROBE_SECONDS = 15.0
airflow_provider_loadaware.service.CONNECT_SECONDS = 15.0
airflow_provider_loadaware.service.TOTAL_SECONDS = 15.0

# The modules that a try or the parsing of a DAG file imports.
PRELOADED = (
    "airflow.decorators",
    "airflow.providers.cncf.kubernetes.operators.pod",
    "airflow_provider_loadaware.callbacks",
    "airflow_provider_loadaware.campaigns",
    "airflow_provider_loadaware.decorators",
    "airflow_provider_loadaware.operators",
    "httpcore",
    "jinja2.ext",
    "scenarios",
)
PRELOADED_2 = (
    "airflow.cli.commands.task_command",
    "airflow.jobs.local_task_job_runner",
    "airflow.task.task_runner.standard_task_runner",
)
PRELOADED_3 = (
    "airflow.dag_processing.bundles.local",
    "airflow.providers.cncf.kubernetes.decorators.kubernetes",
    "airflow.providers.standard.decorators.python",
    "airflow.providers.standard.operators.empty",
    "airflow.providers.standard.operators.trigger_dagrun",
    "airflow.providers.standard.sensors.external_task",
    "airflow.sdk.execution_time.cache",
)


_preloaded = False


def _prepare_fork() -> None:
    """Import in the parent what every fork would import, and exclude these objects from garbage collection in the fork.

    The scheduler forks each try and the DAG processor forks each parsing. Without this, a fork spends more CPU time on
    imports and on copies of the memory pages that its garbage collector touches than on its task. The imports wait for
    the first fork, because Airflow itself is not imported yet when it reads its local settings.
    """
    global _preloaded
    if not _preloaded:
        _preloaded = True
        from harness.deployment import MAJOR

        for name in (*PRELOADED, *(PRELOADED_3 if MAJOR >= 3 else PRELOADED_2)):
            importlib.import_module(name)
    gc.freeze()


if {"scheduler", "dag-processor"} & set(sys.argv):
    os.register_at_fork(before=_prepare_fork, after_in_parent=gc.unfreeze)
