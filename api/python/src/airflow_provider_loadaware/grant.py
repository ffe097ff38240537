"""The grant of a try: the server's prediction, limited by local bounds and corrected after an OOM kill of its run.

Pure functions: no I/O, no clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_loadaware.quantity import MIB, display_bytes
from loadaware_client.models.lift import Lift
from loadaware_client.models.mode import Mode
from loadaware_client.models.prediction import Prediction
from loadaware_client.models.source import Source

MIN_BYTES, MAX_BYTES = 4 * MIB, 1 << 46  # bytes; outside this range no container starts or no node is large enough
MAX_CORES = 4096.0
LIFT_FACTOR = 2  # times the killed allocation
DEFAULT_CAP = 4  # times the largest of the request, the static grant and the killed allocation


@dataclass(frozen=True)
class Static:
    """The static resources that the DAG sets; None where it sets none."""

    memory_request: int | None = None
    memory_limit: int | None = None
    cpu_request: float | None = None
    cpu_limit: float | None = None

    @property
    def memory(self) -> int | None:
        """Bytes that a node reserves. Without a request, Kubernetes uses the limit."""
        return self.memory_request or self.memory_limit

    @property
    def enforced(self) -> int | None:
        """Bytes at which the kernel kills; without a limit, the reserved bytes."""
        return self.memory_limit or self.memory_request

    @property
    def cpu(self) -> float | None:
        """Cores that a node reserves."""
        return self.cpu_request or self.cpu_limit

    def to_request(self) -> dict[str, Any] | None:
        """Return the request in the API's format, or None if nothing is requested."""
        fields = {"memory_bytes": self.memory, "cpu_cores": self.cpu}
        return {k: v for k, v in fields.items() if v} or None


@dataclass(frozen=True)
class Bounds:
    """Bounds in bytes that this provider applies (Options.bounds in sizing.py); None means no bound."""

    minimum: int | None = None
    maximum: int | None = None

    def clamp(self, count: int) -> int:
        """Return `count` within the bounds. The upper bound wins."""
        raised = max(count, self.minimum or 0)
        return min(raised, self.maximum or raised)


@dataclass(frozen=True)
class Kill:
    """A try of this run that lacked memory: the killed allocation, and the amount announced for the next try.

    The kernel killed the try, or the program itself ran out of memory. `next_bytes` is the amount that the server
    announced, or None if it announced no amount. If it answered that the run gets no lift, `next_bytes` equals
    `at_bytes`.
    """

    at_bytes: int
    try_number: int
    next_bytes: int | None = None
    unreported: bool = False  # the server does not know the kill yet
    static_bytes: int | None = None  # static grant of the killed try, if it had a plan; at_bytes may be less


@dataclass(frozen=True)
class Grant:
    """The resources granted to a try. `cpu_request` is in cores; None does not change the CPU request."""

    memory_request: int
    memory_limit: int
    cpu_request: float | None
    source: str
    reason: str
    prediction_id: str | None = None


class InvalidAnswerError(ValueError):
    """The server's answer contains an invalid amount."""


def from_prediction(answer: Prediction, bounds: Bounds, kill: Kill | None, static: Static) -> Grant | None:
    """Return the grant of a prediction, or None to keep the static request. Raises InvalidAnswerError.

    Only a prediction in the mode `enforce` gives a grant. After a kill, the lift of the provider (`after_kill`)
    replaces two answers of the server: the static request, and an amount that is not above the killed allocation. One
    exception: a lift of the server to exactly the killed allocation is granted, because it means that a cap applies.
    If the server does not know the kill (`kill.unreported`), it may answer the killed amount again; then the lift
    of the provider replaces every smaller answer.
    """
    if answer.mode != Mode.ENFORCE or answer.memory is None:
        return None
    if answer.source == Source.REQUESTED:
        return after_kill(kill, bounds, static) if kill else None
    request = _bytes(answer.memory, "request_bytes")
    limit = max(request, _bytes(answer.memory, "limit_bytes"))
    grant = Grant(
        memory_request=bounds.clamp(request),
        memory_limit=bounds.clamp(limit),
        cpu_request=_cores(answer),
        source=answer.source.value,
        reason=answer.reason if isinstance(answer.reason, str) else "",
        prediction_id=answer.prediction_id if isinstance(answer.prediction_id, str) else None,
    )
    if kill is None:
        return grant
    lifted = after_kill(kill, bounds, static)
    at_cap = grant.memory_limit == kill.at_bytes and answer.source == Source.LIFT
    if kill.unreported:
        suffices = grant.memory_limit >= lifted.memory_limit
    else:
        suffices = grant.memory_limit > kill.at_bytes or at_cap
    if suffices:
        return grant
    return replace(lifted, cpu_request=grant.cpu_request, prediction_id=grant.prediction_id)


def after_kill(kill: Kill, bounds: Bounds, static: Static) -> Grant:
    """Return the lift after an OOM kill: `kill.next_bytes`, or twice the killed allocation if that is None.

    Twice the killed allocation is raised to the static limit (the static request if the DAG sets no limit) and to
    `kill.static_bytes`. If `bounds` has no upper bound, DEFAULT_CAP then bounds the amount. `bounds` apply last. After
    a kill at 10Gi without an announced amount, the lift is 20Gi if the static request is 4Gi, and 350Gi if the static
    request is 350Gi.
    """
    cap = bounds.maximum or DEFAULT_CAP * max(static.memory or 0, kill.static_bytes or 0, kill.at_bytes)
    least = max(LIFT_FACTOR * kill.at_bytes, static.enforced or 0, kill.static_bytes or 0)
    amount = bounds.clamp(kill.next_bytes or min(least, cap))
    if not kill.next_bytes:
        origin = "lifted without the server"
    elif kill.next_bytes == kill.at_bytes:
        origin = "the server lifts this run no further"
    else:
        origin = "the server announced this amount"
    return Grant(
        memory_request=amount,
        memory_limit=amount,
        cpu_request=None,
        source="local-lift",
        reason=f"out of memory at {display_bytes(kill.at_bytes)} in try {kill.try_number}; {origin}",
    )


@dataclass(frozen=True)
class LiftAnswer:
    """The answer of /retry-lift: the value of `Kill.next_bytes`, and a text for the log."""

    next_bytes: int | None
    message: str

    @classmethod
    def of(cls, answer: Lift, killed_at: int) -> LiftAnswer:
        """Read an answer about a kill at `killed_at` bytes. An invalid amount counts as none."""
        amount = getattr(answer.memory, "limit_bytes", None)
        if not isinstance(amount, int) or not MIN_BYTES <= amount <= MAX_BYTES:
            amount = None
        if not answer.retry:
            return cls(killed_at, f"no lift ({answer.verdict}): {answer.reason}")
        if amount is None:
            return cls(None, answer.reason)
        return cls(amount, f"next try gets {display_bytes(amount)}")


def without_cpu(granted: Grant) -> Grant:
    """Return the same grant without a CPU request."""
    return replace(granted, cpu_request=None)


def _bytes(memory: Any, name: str) -> int:
    value = getattr(memory, name, None)
    if isinstance(value, bool) or not isinstance(value, int) or not MIN_BYTES <= value <= MAX_BYTES:
        raise InvalidAnswerError(f"memory.{name} is {value!r}")
    return value


def _cores(answer: Prediction) -> float | None:
    value = getattr(answer.cpu, "request_cores", None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidAnswerError(f"cpu.request_cores is {value!r}")
    if not math.isfinite(value) or not 0 < value <= MAX_CORES:
        raise InvalidAnswerError(f"cpu.request_cores is {value!r}")
    return float(value)
