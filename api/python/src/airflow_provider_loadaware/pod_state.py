"""The resources of a running pod: what is wanted, what is in force, and how a resize of them proceeds.

Reads the JSON of a pod, as Kubernetes 1.33 and later give it:

    spec.containers[].resources ............ wanted
    status.containerStatuses[].resources ... in force
    condition PodResizePending ............. Deferred: later, if the node has capacity; Infeasible: never on this node
    condition PodResizeInProgress .......... accepted by the node, not in force yet
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_loadaware.quantity import parse_bytes, parse_cores

DEFERRED, INFEASIBLE = "Deferred", "Infeasible"


@dataclass(frozen=True)
class Resources:
    """Memory in bytes and the CPU request in millicores; None where nothing is set."""

    limit: int | None = None
    request: int | None = None
    cpu: int | None = None

    @classmethod
    def of(cls, resources: Any) -> Resources:
        """Read a `resources` object. An unreadable quantity counts as not set."""
        found = resources if isinstance(resources, Mapping) else {}
        requests, limits = found.get("requests") or {}, found.get("limits") or {}
        cores = _read(parse_cores, requests.get("cpu"))
        return cls(
            limit=_read(parse_bytes, limits.get("memory")),
            request=_read(parse_bytes, requests.get("memory")),
            cpu=None if cores is None else round(cores * 1000),
        )


@dataclass(frozen=True)
class PodState:
    """The state of the base container and of the resize of its pod."""

    started_at: datetime | None  # None: not started yet
    ended: bool
    wanted: Resources
    in_force: Resources
    pending: str | None = None  # DEFERRED or INFEASIBLE
    error: str | None = None  # of a resize that the node accepted but could not carry out
    message: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether the wanted resources are in force."""
        return self.pending is None and self.wanted == self.in_force

    @classmethod
    def of(cls, pod: Mapping[str, Any], base: str) -> PodState:
        """Read the JSON of a pod."""
        status = pod.get("status") or {}
        containers = pod["spec"]["containers"]
        container = next((c for c in containers if c.get("name") == base), containers[0])
        statuses = status.get("containerStatuses") or ()
        found: Mapping[str, Any] = next((s for s in statuses if s.get("name") == container["name"]), {})
        state = found.get("state") or {}
        wanted = Resources.of(container.get("resources"))
        # A server without in-place resizes does not show resources in the status: those of the spec are in force.
        in_force = Resources.of(found["resources"]) if found.get("resources") else wanted
        conditions = {c.get("type"): c for c in status.get("conditions") or () if c.get("status") == "True"}
        pending, progress = conditions.get("PodResizePending"), conditions.get("PodResizeInProgress") or {}
        return cls(
            started_at=_time((state.get("running") or state.get("terminated") or {}).get("startedAt")),
            ended=bool(state.get("terminated")) or status.get("phase") in ("Succeeded", "Failed"),
            wanted=wanted,
            in_force=in_force,
            pending=(pending.get("reason") or DEFERRED) if pending else None,
            error=str(progress.get("message") or "") if progress.get("reason") == "Error" else None,
            message=str((pending or {}).get("message") or ""),
        )


def patch(base: str, *, limit: int | None = None, request: int | None = None, cpu: int | None = None) -> dict[str, Any]:
    """Return the body of a strategic merge patch of `pods/resize`. None leaves an amount unchanged."""
    requests = {"memory": request, "cpu": None if cpu is None else f"{cpu}m"}
    resources = {
        "limits": {} if limit is None else {"memory": str(limit)},
        "requests": {name: str(amount) for name, amount in requests.items() if amount is not None},
    }
    return {"spec": {"containers": [{"name": base, "resources": {k: v for k, v in resources.items() if v}}]}}


@dataclass(frozen=True)
class Usage:
    """One sample of the metrics API: when it was taken, and what the base container used."""

    at: datetime
    memory_bytes: int
    cpu_cores: float | None

    @classmethod
    def of(cls, metrics: Mapping[str, Any], base: str) -> Usage | None:
        """Read a PodMetrics object, or return None if it has no sample of the container."""
        at = _time(metrics.get("timestamp"))
        for container in metrics.get("containers") or ():
            usage = container.get("usage") or {}
            memory = _read(parse_bytes, usage.get("memory"))
            if container.get("name") == base and at is not None and memory is not None:
                return cls(at, memory, _read(parse_cores, usage.get("cpu")))
        return None


def _read(parse: Any, quantity: Any) -> Any:
    with contextlib.suppress(ValueError):
        return None if quantity is None else parse(quantity)
    return None


def _time(text: Any) -> datetime | None:
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return moment if moment.tzinfo else None
    return None
