"""Run times: the execution timeout of a try, and the interval of a deadline alert.

size_timeout=True ... GET /tasks/{dag_id}/{task_id}/runtime ──▶ execution_timeout of this try
deadline_interval ... GET /dags/{dag_id}/forecast ──▶ how long a DAG run may take (Airflow 3.1: DeadlineAlert)
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

from airflow_provider_loadaware import settings
from airflow_provider_loadaware.service import TOTAL_SECONDS, Service
from airflow_provider_loadaware.state import FileStore
from airflow_provider_loadaware.tries import Try

MIN_TIMEOUT = timedelta(minutes=1)  # whether a shorter timeout suffices depends more on the cluster than on the task
DEFAULT_RISK = 0.01
FORECAST_SECONDS = 3600.0  # how long a stored forecast is used
MAX_FORECASTS = 1000
# The parameters of the request. A feature with such a name cannot be sent, so the answer does not consider it.
_PARAMETERS = frozenset({"namespace", "risk", "elapsed_seconds", "execution_timeout_seconds"})

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Advice:
    """A suggested execution timeout for runs that work normally (healthy runs)."""

    suggested: timedelta
    stopped: float | None = None  # share of the healthy runs that the current timeout stops; None if unknown


def advice_for(
    service: Service, key: Try, features: Mapping[str, Any] | None, risk: float, current: timedelta | None
) -> Advice:
    """Request an execution timeout that stops a share `risk` of the healthy runs.

    Raises NotAnsweredError, RejectedError or ValueError.
    """
    query: dict[str, Any] = {
        k: _as_parameter(v) for k, v in (features or {}).items() if v is not None and k not in _PARAMETERS
    }
    query |= {"namespace": key.namespace, "risk": risk}
    if current is not None:
        query["execution_timeout_seconds"] = current.total_seconds()
    path = f"/tasks/{quote(key.dag_id, safe='')}/{quote(key.task_id, safe='')}/runtime"
    answer = service.request("GET", f"{path}?{urlencode(query)}", seconds=TOTAL_SECONDS)
    stopped = answer.get("timeout_probability")
    return Advice(
        _duration((answer.get("execution_timeout") or {}).get("seconds")), stopped if _is_number(stopped) else None
    )


def _as_parameter(feature: Any) -> Any:
    """Return a feature for a query. The server reads from it the same value as from JSON."""
    if isinstance(feature, bool):
        return "true" if feature else "false"
    return f'"{feature}"' if isinstance(feature, str) else feature  # without quotes, "17" would be a number


def bound_timeout(advice: Advice, current: timedelta | None, startup: timedelta) -> timedelta:
    """Return the timeout to set. The DAG's own timeout stays the upper bound.

    A run time starts with the container, but Airflow's timeout with the try, so `startup`, the longest time until the
    container starts, is added.
    """
    chosen = max(advice.suggested + startup, MIN_TIMEOUT)
    return min(chosen, current) if current is not None else chosen


def deadline_interval(
    dag_id: str, default: timedelta, *, namespace: str | None = None, conn_id: str | None = None
) -> timedelta:
    """Return the time within which 95 % of the runs of a DAG end, or `default` if the server does not know it.

    A DAG file may call this: an answer is stored for an hour, and any error means `default`. With Airflow 3.1:

        DAG("pricing", deadline=DeadlineAlert(
            reference=DeadlineReference.DAGRUN_QUEUED_AT,
            interval=deadline_interval("pricing", timedelta(hours=6)),
            callback=AsyncCallback(notify),
        ))
    """
    try:
        if settings.is_disabled():
            return default
        from airflow_provider_loadaware.hooks import LoadawareHook

        hook = LoadawareHook(conn_id or settings.get("conn_id", LoadawareHook.default_conn_name))
        chosen = namespace or settings.get("namespace")
        store = FileStore(settings.state_folder(), "forecasts", MAX_FORECASTS)
        name = hashlib.sha256(f"{hook.loadaware_conn_id}\0{chosen}\0{dag_id}".encode()).hexdigest()[:40]
        known = store.get(name) or {}
        if not 0 <= time.time() - float(known.get("at", 0)) < FORECAST_SECONDS:
            chosen = chosen or str(hook.extras.get("namespace") or "default")
            known = {"at": time.time(), "seconds": _forecast(hook.get_conn(), chosen, dag_id)}
            store.put(name, known)
        return default if known.get("seconds") is None else _duration(known["seconds"])
    except Exception as error:  # noqa: BLE001 - an error here must not break the DAG
        log.warning("loadaware: no forecast of %s (%s: %s); using %s", dag_id, type(error).__name__, error, default)
        return default


def _forecast(service: Service, namespace: str, dag_id: str) -> float | None:
    """Return the 95 % quantile of a run's duration in seconds, or None if unknown. The caller stores None, too."""
    path = f"/dags/{quote(dag_id, safe='')}/forecast?{urlencode({'namespace': namespace})}"
    try:
        return _duration(service.request("GET", path).get("p95_seconds")).total_seconds()
    except Exception as error:  # noqa: BLE001 - DAG files are parsed often; do not ask each time
        log.info("loadaware: no forecast of %s: %s", dag_id, error)
        return None


def _duration(seconds: Any) -> timedelta:
    """Return a positive duration of at most ten years. Raises ValueError for anything else."""
    if not _is_number(seconds) or not 0 < seconds <= 315_360_000:
        raise ValueError(f"the server answered {seconds!r} seconds")
    return timedelta(seconds=seconds)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
