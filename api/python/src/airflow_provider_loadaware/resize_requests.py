"""The requests of a resize controller, their failures, and the record of what was done."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from airflow_provider_loadaware.plan import Plan

MAX_RESIZES = 200  # of a report


@dataclass(frozen=True)
class ReadPod:
    """Read the pod. The result is its JSON."""


@dataclass(frozen=True)
class ReadUsage:
    """Read the metrics of the pod. The result is a PodMetrics object as JSON."""


@dataclass(frozen=True)
class Resize:
    """Patch the subresource `resize` of the pod. The result is empty."""

    body: dict[str, Any]


@dataclass(frozen=True)
class Ask:
    """Send POST /phase. The result is the answer as JSON."""

    body: dict[str, Any]


@dataclass(frozen=True)
class Sleep:
    """Wait for a number of seconds."""

    seconds: float


@dataclass(frozen=True)
class Failure:
    """The result of a request that failed: an HTTP status, or None if unknown, and a text."""

    status: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.status}: {self.text}" if self.status else self.text

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Describe an exception of a client. The exceptions of the Kubernetes clients have a status and a reason."""
        status = getattr(error, "status", None)
        text = str(getattr(error, "reason", None) or error) or type(error).__name__
        return cls(status if isinstance(status, int) and status > 0 else None, text[:200])


@dataclass
class Execution:
    """How a plan was executed: the field `executed_plan` of a report."""

    plan: Plan
    fallback: str | None = None  # why the static grant applies
    resizes: list[dict[str, Any]] = field(default_factory=list)
    is_complete: bool = True  # False: another process may have executed a part
    static_grant_error: str | None = None  # why this process could not set the static grant

    def add(self, entry: dict[str, Any]) -> None:
        """Record a resize, if fewer than MAX_RESIZES are recorded."""
        self.resizes = [*self.resizes, entry][:MAX_RESIZES]

    def to_dict(self) -> dict[str, Any]:
        """Return the field of the report."""
        fallback = self.fallback or (None if self.is_complete else "another process may have executed the first part")
        if self.plan.keeps_limit and self.plan.resizes_memory:
            fallback = fallback or "a synchronous task keeps its static limit; only its request followed the plan"
        return {
            "version": self.plan.version,
            "mode": self.plan.mode,
            "followed": fallback is None and self.plan.acts,
            "start_bytes": self.plan.start_limit,
            "fallback": fallback[:500] if fallback else None,
            "resizes": self.resizes,
        }


Request: TypeAlias = ReadPod | ReadUsage | Resize | Ask | Sleep
Requests: TypeAlias = Generator[Request, Any, Execution]
