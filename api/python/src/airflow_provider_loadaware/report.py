"""The report of a try for POST /observe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_provider_loadaware import outcome as outcomes
from airflow_provider_loadaware import peak, plan, pod
from airflow_provider_loadaware.grant import Static
from airflow_provider_loadaware.outcome import Outcome
from airflow_provider_loadaware.resize_requests import Execution
from airflow_provider_loadaware.tries import Try

_reported: set[str] = set()  # Try.key of each try that this process has reported


def mark_reported(key: Try) -> bool:
    """Mark a try as reported. Returns False if it was marked before: an operator and its callbacks see the same end."""
    if key.key in _reported:
        return False
    _reported.add(key.key)
    return True


@dataclass
class End:
    """The end of a try.

    `pod` is the current pod, or None if it is gone. `last` is the last known state of the pod; the resources are read
    from it if the pod is gone. `read_log` returns the tail of the log.
    """

    pod: Any | None
    last: Any | None = None
    base: str = "base"
    read_log: Callable[[], str] = str
    launch_timed_out: bool = False
    stopped: bool = False  # by a user or by Airflow
    succeeded: bool = False  # according to Airflow, whatever the pod shows
    launched: bool = True  # False: no pod was created
    executed: dict[str, Any] | None = None  # how the plan of the pod was executed, if this process knows it

    def __post_init__(self) -> None:
        self._end = outcomes.base_end(self.pod, self.base)
        known = self.pod or self.last
        self._static = pod.static_of(pod.base_container(known, self.base)) if known else None
        self._plan = plan.of_pod(known) if known else None
        if self._plan is not None:
            self._static = self._in_force() or self._static
        self.prediction_id, self.requested = pod.read_annotations(known) if known else (None, None)

    @property
    def allocated_bytes(self) -> int | None:
        """The memory limit in bytes; without a limit, the request. None if unknown.

        It is the limit in the spec of the pod; with a plan, the limit that was in force last, if the status shows it.
        """
        return self._static.enforced if self._static else None

    @property
    def static_bytes(self) -> int | None:
        """The memory limit of the static grant in bytes; None without a plan."""
        return self._plan.static_bytes if self._plan else None

    def measure(self, source: peak.PeakSource, context: Any, warn: Callable[[str], None]) -> peak.Peak:
        """Return the measured peak. Exceptions of the DAG author's callable propagate.

        `warn` is called for each amount that cannot be read.
        """
        return peak.measure(source, self.pod, self._end.message, context, warn) if self.pod else peak.Peak()

    def outcome(self, measured: peak.Peak) -> Outcome:
        """Return the outcome. An OOM without a known allocation or peak becomes `killed` or `failed`."""
        outcome = self._classify(measured)
        if outcome.lacks_memory and not self.allocated_bytes and not measured.memory_bytes:
            return Outcome.KILLED if outcome is Outcome.OOM_KILLED else Outcome.FAILED
        return outcome

    def _classify(self, measured: peak.Peak) -> Outcome:
        """Return the outcome that the pod and Airflow show. Reads the log only if the outcome may depend on it."""
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
            # A pod that was assigned to a node fits it: the timeout is due to its image or volumes, not to its size.
            launch_timed_out=self.launch_timed_out and not outcomes.is_scheduled(self.pod or self.last),
        )

    def body(self, outcome: Outcome, measured: peak.Peak) -> dict[str, Any]:
        """Return the known fields of a report that come from the pod."""
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
            "executed_plan": self._executed_plan(),
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

    def _in_force(self) -> Static | None:
        """Return the resources in force, or None if the status does not show them.

        The resources in the spec of the pod may still wait for capacity on the node.
        """
        statuses = getattr(getattr(self.pod or self.last, "status", None), "container_statuses", None) or ()
        found = next((status for status in statuses if status.name == self.base), None)
        in_force = pod.static_of(found) if getattr(found, "resources", None) else None
        return in_force if in_force and in_force.enforced else None

    def _executed_plan(self) -> dict[str, Any] | None:
        if self._plan is None:
            return None
        return self.executed or Execution(self._plan, is_complete=False).to_dict()


def _utc(moment: Any) -> datetime | None:
    if not isinstance(moment, datetime):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
