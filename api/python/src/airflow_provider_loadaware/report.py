"""The end of a try as POST /observe takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_provider_loadaware import outcome as outcomes
from airflow_provider_loadaware import peak, pod
from airflow_provider_loadaware.outcome import Outcome
from airflow_provider_loadaware.tries import Try

_said: set[str] = set()


def first_time(key: Try) -> bool:
    """Whether this process has not reported this try yet: an operator and its callbacks see the same end."""
    if key.key in _said:
        return False
    _said.add(key.key)
    return True


@dataclass
class End:
    """How a try was last seen.

    `pod` is as it is now, None where there is none any more; `last` is as it was seen before, for what it had.
    `read_log` gives the tail of the log.
    """

    pod: Any | None
    last: Any | None = None
    base: str = "base"
    read_log: Callable[[], str] = str
    launch_timed_out: bool = False
    stopped: bool = False  # by a person or by Airflow, not by its own fault
    succeeded: bool = False  # Airflow saw it, though the pod is gone
    launched: bool = True  # False: no pod was ever created

    def __post_init__(self) -> None:
        self._end = outcomes.base_end(self.pod, self.base)
        seen = self.pod or self.last
        self._static = pod.static_of(pod.base_container(seen, self.base)) if seen else None
        self.prediction_id, self.requested = pod.notes_of(seen) if seen else (None, None)

    @property
    def allocated_bytes(self) -> int | None:
        """What the pod really had; a pod that was found again has what it was created with."""
        return self._static.enforced if self._static else None

    def measure(self, source: peak.PeakSource, context: Any) -> peak.Peak:
        """The measured peak. Raises what a source of the DAG author's raises."""
        return peak.measure(source, self.pod, self._end.message, context) if self.pod else peak.Peak()

    def outcome(self, measured: peak.Peak) -> Outcome:
        """How it ended, as far as it can be told: an OOM says "more than this", so without a this it says nothing."""
        seen = self._seen(measured)
        if seen.lacks_memory and not self.allocated_bytes and not measured.memory_bytes:
            return Outcome.KILLED if seen is Outcome.OOM_KILLED else Outcome.FAILED
        return seen

    def _seen(self, measured: peak.Peak) -> Outcome:
        """How it ended. The log is read only where it decides something."""
        if self.succeeded:
            return Outcome.SUCCESS
        if self.stopped:
            return Outcome.KILLED
        if not self.launched:
            return Outcome.FAILED
        ended = self._end
        unclear = ended.exit_code not in (None, 0) and ended.reason != "OOMKilled"
        return outcomes.classify(
            self.pod,
            self.base,
            log_tail=self.read_log() if unclear else "",
            peak_bytes=measured.memory_bytes,
            limit_bytes=self.allocated_bytes,
            launch_timed_out=self.launch_timed_out,
        )

    def body(self, outcome: Outcome, measured: peak.Peak) -> dict[str, Any]:
        """The fields of a report that come from the pod; what is not known is left out."""
        allocated = {
            "memory_bytes": self.allocated_bytes,
            "cpu_cores": self._static.cpu if self._static else None,
        }
        fields: dict[str, Any] = {
            "outcome": outcome.value,
            "memory_max_bytes": measured.memory_bytes,
            "cpu_max_cores": measured.cpu_cores,
            "usage_series": measured.series,
            "allocated": {k: v for k, v in allocated.items() if v} or None,
            "requested": self.requested,
            "prediction_id": self.prediction_id,
        }
        began, ended = _utc(self._end.started_at), _utc(self._end.finished_at)
        if began and ended and began <= ended:
            fields |= {
                "started_at": began.isoformat(),
                "ended_at": ended.isoformat(),
                "duration_seconds": (ended - began).total_seconds(),
            }
        return {k: v for k, v in fields.items() if v is not None}


def _utc(moment: Any) -> datetime | None:
    if not isinstance(moment, datetime):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
