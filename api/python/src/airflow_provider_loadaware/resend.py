"""The sending of reports that had to wait."""

from __future__ import annotations

from airflow_provider_loadaware.memory import Spool
from airflow_provider_loadaware.service import Deadline, RefusedError, Service
from loadaware_client.types import Unset

BATCH = 50


def send_waiting(service: Service, spool: Spool, deadline: Deadline, run_key: str | None = None) -> None:
    """Sends reports that wait; the server counts a try once, so that one sent twice does no harm.

    Raises what Service.observe_many raises; then they wait on.
    """
    waiting = spool.waiting(BATCH, run_key)
    if not waiting:
        return
    try:
        answers = service.observe_many(list(waiting.values()), deadline)
    except RefusedError as error:
        if error.later:
            raise
        for key in waiting:  # the batch as a whole makes no sense to the server, and never will
            spool.sent(key)
        return
    for key, answer in zip(waiting, answers, strict=True):
        # Recorded, or refused for good; only the server's own trouble is worth another try.
        if answer.recorded or (not isinstance(answer.error, Unset) and answer.error.status < 500):
            spool.sent(key)
