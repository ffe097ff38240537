"""Delivery of pending reports."""

from __future__ import annotations

from airflow_provider_loadaware.service import Deadline, RejectedError, Service
from airflow_provider_loadaware.spool import Spool
from loadaware_client.types import Unset

BATCH = 50


def send_pending(service: Service, spool: Spool, deadline: Deadline, run_key: str | None = None) -> None:
    """Send up to BATCH pending reports. Sending a report twice is harmless, because the server counts a try once.

    Raises NotAnsweredError or a retryable RejectedError; the reports then stay pending.
    """
    pending = spool.pending(BATCH, run_key)
    if not pending:
        return
    try:
        answers = service.observe_many(list(pending.values()), deadline)
    except RejectedError as error:
        if error.retryable:
            raise
        for key in pending:  # the server rejects the batch for good
            spool.remove(key)
        return
    for (key, report), answer in zip(pending.items(), answers, strict=True):
        if answer.recorded:
            spool.deliver(key, report)
        elif not isinstance(answer.error, Unset) and answer.error.status < 500:
            spool.remove(key)  # the server rejects it for good; after a 5xx it may succeed later
