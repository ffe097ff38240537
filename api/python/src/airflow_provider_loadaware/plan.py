"""The plan of a try: amounts that change while its pod runs, and the static grant to which it falls back.

A prediction has a plan only if the policy of its task sets `phases`. The pod carries the plan in an annotation, so that
another process can continue it. The module does no I/O and reads no clock.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from airflow_provider_loadaware.grant import MAX_BYTES, MAX_CORES, MIN_BYTES, Grant, Static
from airflow_provider_loadaware.pod_state import Resources
from airflow_provider_loadaware.quantity import display_bytes
from loadaware_client.models.plan import Plan as Answered
from loadaware_client.models.prediction import Prediction

ANNOTATION = "loadaware.io/plan"
OBSERVE, CPU, MEMORY = "observe", "cpu", "memory"  # modes

_MIN_SECONDS, _MAX_SECONDS = 1.0, 600.0  # the server's bounds of poll_seconds and reaction_seconds
_MAX_STEPS = 100  # later steps are ignored


class InvalidPlanError(ValueError):
    """A plan contains an invalid value."""


@dataclass(frozen=True)
class Plan:
    """A plan and the static grant of the same prediction, in bytes and millicores.

    None as `start_cpu` or `static_cpu` means that the CPU request stays unchanged.
    """

    version: int
    mode: str
    start_bytes: int
    static_bytes: int  # memory limit of the static grant
    request_share: float  # memory request divided by the limit
    poll_seconds: float
    reaction_seconds: float
    ask_by_seconds: tuple[float, ...] = ()  # for each step, the latest time to ask for its limit, from the start
    start_cpu: int | None = None
    static_cpu: int | None = None
    cpu_limit: int | None = None
    maximum: int | None = None  # upper bound of the memory limit
    keeps_limit: bool = False  # the limit starts at the static grant; only the request starts with less

    @classmethod
    def of_prediction(cls, answer: Prediction, grant: Grant, static: Static, maximum: int | None) -> Plan | None:
        """Return the plan of an answer of /predict whose grant is `grant`, or None. Raises InvalidPlanError."""
        if not isinstance(answer.plan, Answered):
            return None
        given = answer.plan.to_dict()
        if given["mode"] not in (OBSERVE, CPU, MEMORY):
            return None
        start = given["start"]
        cpu = start["cpu_millicores"]
        manages_cpu = grant.cpu_request is not None and cpu is not None
        limit = _millicores(static.cpu_limit) if static.cpu_limit else None
        found = {
            "version": given["version"],
            "mode": given["mode"],
            "start_bytes": min(_number(start["memory_bytes"], "start.memory_bytes"), grant.memory_limit),
            "static_bytes": grant.memory_limit,
            "request_share": grant.memory_request / grant.memory_limit,
            "poll_seconds": given["poll_seconds"],
            "reaction_seconds": given["reaction_seconds"],
            "ask_by_seconds": [step["ask_by_seconds"] for step in given["steps"]],
            "start_cpu": cpu if manages_cpu else None,
            "static_cpu": _millicores(grant.cpu_request) if manages_cpu and grant.cpu_request else None,
            "cpu_limit": limit,
            "maximum": maximum,
        }
        return cls.from_dict(found)

    @classmethod
    def from_dict(cls, value: Any) -> Plan:
        """Return the plan that `to_dict` wrote. Raises InvalidPlanError."""
        try:
            plan = cls(
                version=int(value["version"]),
                mode=str(value["mode"]),
                start_bytes=_amount(value["start_bytes"], "start"),
                static_bytes=_amount(value["static_bytes"], "static"),
                request_share=float(value["request_share"]),
                poll_seconds=_seconds(value["poll_seconds"]),
                reaction_seconds=_seconds(value["reaction_seconds"]),
                ask_by_seconds=tuple(sorted(float(at) for at in value["ask_by_seconds"][:_MAX_STEPS])),
                keeps_limit=bool(value.get("keeps_limit", False)),
                **{name: _optional(value[name], name) for name in ("start_cpu", "static_cpu", "cpu_limit", "maximum")},
            )
        except InvalidPlanError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InvalidPlanError(f"{type(error).__name__}: {error}") from error
        if plan.mode not in (OBSERVE, CPU, MEMORY) or not 0 < plan.request_share <= 1 or plan.version < 1:
            raise InvalidPlanError(f"mode {plan.mode!r}, request share {plan.request_share}, version {plan.version}")
        return plan

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        return {**asdict(self), "ask_by_seconds": list(self.ask_by_seconds)}

    @property
    def resizes_memory(self) -> bool:
        """Whether the memory follows the plan."""
        return self.mode == MEMORY and self.start_bytes < self.static_bytes

    @property
    def resizes_cpu(self) -> bool:
        """Whether the CPU request follows the plan."""
        return self.mode in (CPU, MEMORY) and self.start_cpu is not None and self.static_cpu is not None

    @property
    def acts(self) -> bool:
        """Whether the plan changes the pod."""
        return self.resizes_memory or self.resizes_cpu

    @property
    def summary(self) -> str:
        """A line for the log."""
        amount = "memory request" if self.keeps_limit else "memory"
        memory = f"{amount} {display_bytes(self.start_bytes)} of {display_bytes(self.static_bytes)}"
        cpu = f" and CPU request {self.start_cpu}m of {self.static_cpu}m" if self.start_cpu and self.static_cpu else ""
        return f"version {self.version}, planned {memory}{cpu} at the start, {len(self.ask_by_seconds)} steps"

    @property
    def start_limit(self) -> int:
        """The memory limit at the start."""
        return self.start_bytes if self.resizes_memory and not self.keeps_limit else self.static_bytes

    def followed_limit(self, wanted: Resources) -> int | None:
        """Return the current limit of the plan. `wanted` holds the resources in the spec of the base container.

        With `keeps_limit`, the limit of the pod is at least the static grant. While it equals the static grant, the
        plan's limit follows from the request, which is a fixed share of the plan's limit.
        """
        if not self.keeps_limit or wanted.request is None or not self.resizes_memory:
            return wanted.limit
        exceeds_static = (wanted.limit or 0) > self.static_bytes
        return wanted.limit if exceeds_static else round(wanted.request / self.request_share)

    def request_of(self, limit: int) -> int:
        """Return the memory request that belongs to a limit."""
        return max(1, round(limit * self.request_share))

    def bounded_cpu(self, millicores: int) -> int:
        """Return a CPU request that the pod may have: Kubernetes rejects a request above the limit."""
        return max(1, min(millicores, self.cpu_limit or millicores))


def annotate(pod: Any, plan: Plan) -> None:
    """Write the plan into the annotations of a pod that is not created yet."""
    pod.metadata.annotations = {**(pod.metadata.annotations or {}), ANNOTATION: json.dumps(plan.to_dict())}


def of_pod(pod: Any) -> Plan | None:
    """Return the plan that `annotate` wrote, or None if there is none or it is not readable."""
    text = ((pod.metadata and pod.metadata.annotations) or {}).get(ANNOTATION)
    try:
        return Plan.from_dict(json.loads(text)) if text else None
    except ValueError:
        return None


def _number(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidPlanError(f"{name} is {value!r}")
    return int(value)


def _amount(value: Any, name: str) -> int:
    count = _number(value, name)
    if not MIN_BYTES <= count <= MAX_BYTES:
        raise InvalidPlanError(f"{name} is {value!r}")
    return count


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        raise InvalidPlanError(f"{value!r} is not a number of seconds from {_MIN_SECONDS:.0f} to {_MAX_SECONDS:.0f}")
    return seconds


def _optional(value: Any, name: str) -> int | None:
    if value is None:
        return None
    count = _number(value, name)
    if not 0 < count <= MAX_BYTES:
        raise InvalidPlanError(f"{name} is {value!r}")
    return count


def _millicores(cores: float) -> int:
    return max(1, round(min(cores, MAX_CORES) * 1000))
