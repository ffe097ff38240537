"""The pipeline of the campaign trial and its archived runs.

The trial (`make campaign-trial`) runs a profiling campaign while it kills the service, PostgreSQL and Airflow's
scheduler.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from scenarios import MIB

DAG, SCHEDULER, MAINTAINER = "trial", "trial_scheduler", "trial_maintainer"
STAGES = (
    ("load_sales", "load_stock", "load_prices"),
    ("clean_sales", "clean_stock", "build_features"),
    ("fit_demand", "fit_stock", "fit_prices"),
    ("predict_demand", "predict_stock", "predict_prices"),
)
TASKS = tuple(task for stage in STAGES for task in stage)
FAILING_TASK = "clean_stock"
STATIC = 512 * MIB  # the static request of each task
PROBLEM = "TRIAL_PROBLEM"  # environment variable with a path; while a file is there, FAILS_TO_PROFILE fails
TICK = "TRIAL_TICK_SECONDS"  # the environment variable with the seconds between two runs of the scheduler DAG

# The numbers of the runs that fail once at a step. The trial then resets them.
FAILS_TO_DEPLOY, FAILS_TO_RUN, FAILS_TO_PROFILE = 1, 2, 3
OOM_EVERY = 5  # every fifth run needs more than the static request


def needs_more_than_requested(number: int) -> bool:
    return number % OOM_EVERY == 0


def archived_run(number: int) -> dict[str, Any]:
    at = datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(hours=number)
    need = (900 if needs_more_than_requested(number) else 100 + number % 300) * MIB
    return {
        "scenario": f"archived__{number}",
        "execution_date": at.isoformat(),
        "conf": {"rows": 1000 + number, "need": need, "fails": "failed" if number == FAILS_TO_RUN else ""},
    }
