"""Delivery of pending reports."""

from __future__ import annotations

import logging
from typing import Any

from airflow_provider_loadaware.service import Deadline, RejectedError, Service, check_encodable
from airflow_provider_loadaware.spool import Spool
from loadaware_client.models.observation import Observation
from loadaware_client.types import Unset

BATCH = 50  # largest number of reports in one call; a larger batch would delay the caller
log = logging.getLogger(__name__)


def send_pending(service: Service, spool: Spool, deadline: Deadline, run_key: str | None = None) -> None:
    """Send up to BATCH pending reports. Sending a report twice is harmless, because the server counts a try once.

    Raises NotAnsweredError or a retryable RejectedError; the reports then stay pending. A report that the server may
    record later is sent again after all others. A report that cannot be sent, or that the server rejects permanently,
    is dropped with a warning.
    """
    pending = _sendable(spool, run_key)
    if not pending:
        return
    try:
        answers = service.observe_many(list(pending.values()), deadline)
    except RejectedError as error:
        if error.retryable:
            raise
        for key, report in pending.items():
            _drop(spool, key, report, str(error))
        return
    for (key, report), answer in zip(pending.items(), answers, strict=True):
        if answer.recorded:
            spool.mark_recorded(key, report)
            continue
        # After a 5xx status, the server may record the report later.
        if not isinstance(answer.error, Unset) and answer.error.status < 500:
            rejection = RejectedError(answer.error.status, str(answer.error.detail))
            if not rejection.retryable:
                _drop(spool, key, report, str(rejection))
                continue
        spool.postpone(key)


def _sendable(spool: Spool, run_key: str | None) -> dict[str, dict[str, Any]]:
    """Return the pending reports that the client can send, and drop the others: each would fail every batch."""
    found = {}
    for key, report in spool.pending(BATCH, run_key).items():
        try:
            check_encodable(Observation.from_dict(report).to_dict())
        except Exception as error:  # noqa: BLE001 - a file may contain anything
            _drop(spool, key, report, f"{type(error).__name__}: {error}")
        else:
            found[key] = report
    return found


def _drop(spool: Spool, key: str, report: dict[str, Any], reason: str) -> None:
    spool.remove(key)
    names = ("dag_id", "task_id", "run_id", "map_index", "try_number")
    known = ", ".join(f"{name} {report[name]!r}" for name in names if name in report)
    log.warning("loadaware: dropping the pending report %s (%s): %s", key, known or "of an unknown try", reason)
