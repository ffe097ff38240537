"""How much a try is given: the server's answer, held to local bounds and to what is known of kills.

Arithmetic only: no I/O, no clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_loadaware.quantity import MIB, say_bytes
from loadaware_client.models.lift import Lift
from loadaware_client.models.mode import Mode
from loadaware_client.models.prediction import Prediction
from loadaware_client.models.source import Source

LEAST, MOST = 4 * MIB, 1 << 46  # bytes; an answer outside is nonsense: no container starts, no node has it
MOST_CORES = 4096.0
LIFT_FACTOR = 2
DEFAULT_CAP = 4  # times the larger of the request and the kill, as the server's


@dataclass(frozen=True)
class Static:
    """What the DAG asks for, before anything of ours; None where it says nothing."""

    memory_request: int | None = None
    memory_limit: int | None = None
    cpu_request: float | None = None
    cpu_limit: float | None = None

    @property
    def memory(self) -> int | None:
        """Bytes that a node sets aside: without a request Kubernetes takes the limit."""
        return self.memory_request or self.memory_limit

    @property
    def enforced(self) -> int | None:
        """Bytes at which the kernel kills, or what is set aside where nothing is enforced."""
        return self.memory_limit or self.memory_request

    @property
    def cpu(self) -> float | None:
        """Cores that a node sets aside."""
        return self.cpu_request or self.cpu_limit

    def requested(self) -> dict[str, Any] | None:
        """As the API takes it; None where nothing is requested."""
        fields = {"memory_bytes": self.memory, "cpu_cores": self.cpu}
        return {k: v for k, v in fields.items() if v} or None


@dataclass(frozen=True)
class Bounds:
    """What the DAG author allows, in bytes; None for no bound."""

    least: int | None = None
    most: int | None = None

    def hold(self, count: int) -> int:
        """`count` within the bounds; the upper one rules."""
        return min(max(count, self.least or 0), self.most or count)


@dataclass(frozen=True)
class Kill:
    """An OOM of this run: at how many bytes, and what the server promised for the next try.

    Where the server said that more would not help, the promise is what was killed.
    """

    at_bytes: int
    try_number: int
    next_bytes: int | None = None


@dataclass(frozen=True)
class Grant:
    """What a try gets. `cpu_request` in cores, None to leave CPU alone."""

    memory_request: int
    memory_limit: int
    cpu_request: float | None
    source: str
    reason: str
    prediction_id: str | None = None


class NonsenseError(ValueError):
    """An answer that nobody may act on."""


def of_prediction(answer: Prediction, bounds: Bounds, kill: Kill | None, static: Static) -> Grant | None:
    """The grant that an answer stands for; None where the static request stands. NonsenseError if it makes no sense.

    The server may not have heard of a kill that we saw. Then what was killed is not granted again. Its own lift
    to just what was killed is kept: it knows of the kill, and of a cap.
    """
    if answer.mode != Mode.ENFORCE or answer.memory is None:
        return None
    if answer.source == Source.REQUESTED:
        return after_kill(kill, bounds, static) if kill else None
    request = _bytes(answer.memory, "request_bytes")
    limit = max(request, _bytes(answer.memory, "limit_bytes"))
    grant = Grant(
        memory_request=bounds.hold(request),
        memory_limit=bounds.hold(limit),
        cpu_request=_cores(answer),
        source=answer.source.value,
        reason=answer.reason if isinstance(answer.reason, str) else "",
        prediction_id=answer.prediction_id if isinstance(answer.prediction_id, str) else None,
    )
    at_cap = kill is not None and grant.memory_limit == kill.at_bytes and answer.source == Source.LIFT
    if kill is not None and grant.memory_limit <= kill.at_bytes and not at_cap:
        lifted = after_kill(kill, bounds, static)
        return replace(lifted, cpu_request=grant.cpu_request, prediction_id=grant.prediction_id)
    return grant


def after_kill(kill: Kill, bounds: Bounds, static: Static) -> Grant:
    """What a killed run gets when the server does not say: what it promised, else twice what was too little.

    Never less than the static request, which is what people chose; without a promise never above the cap:
    killed at 10Gi of a static 4Gi gets 20Gi, and of a static 350Gi gets 350Gi.
    """
    cap = bounds.most or DEFAULT_CAP * max(static.memory or 0, kill.at_bytes)
    amount = bounds.hold(kill.next_bytes or min(max(LIFT_FACTOR * kill.at_bytes, static.enforced or 0), cap))
    return Grant(
        memory_request=amount,
        memory_limit=amount,
        cpu_request=None,
        source="local-lift",
        reason=f"OOMKilled at {say_bytes(kill.at_bytes)} in try {kill.try_number}; "
        + ("as was promised then" if kill.next_bytes else "lifted without the server"),
    )


@dataclass(frozen=True)
class Lifted:
    """What /retry-lift said; `next_bytes` is None where it promised nothing."""

    next_bytes: int | None
    words: str

    @classmethod
    def of(cls, answer: Lift, killed_at: int) -> Lifted:
        """Reads an answer about a kill; amounts that make no sense are no promise."""
        amount = getattr(answer.memory, "limit_bytes", None)
        if not isinstance(amount, int) or not LEAST <= amount <= MOST:
            amount = None
        if not answer.retry:
            return cls(killed_at, f"more would not help ({answer.verdict}): {answer.reason}")
        if amount is None:
            return cls(None, answer.reason)
        return cls(amount, f"next try gets {say_bytes(amount)}")


def without_cpu(given: Grant) -> Grant:
    """The same grant, which leaves CPU alone."""
    return replace(given, cpu_request=None)


def _bytes(memory: Any, name: str) -> int:
    value = getattr(memory, name, None)
    if isinstance(value, bool) or not isinstance(value, int) or not LEAST <= value <= MOST:
        raise NonsenseError(f"memory.{name} is {value!r}")
    return value


def _cores(answer: Prediction) -> float | None:
    value = getattr(answer.cpu, "request_cores", None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NonsenseError(f"cpu.request_cores is {value!r}")
    if not math.isfinite(value) or not 0 < value <= MOST_CORES:
        raise NonsenseError(f"cpu.request_cores is {value!r}")
    return float(value)
