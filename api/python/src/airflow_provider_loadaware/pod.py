"""The base container of a pod: what it asks for, and how a grant is written into it and taken out again.

Nothing is changed in place: the operator, its rendered fields and the pod share these objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes.client import models as k8s

from airflow_provider_loadaware.grant import Grant, Static
from airflow_provider_loadaware.quantity import MIB, format_bytes, parse_bytes, parse_cores

PREDICTION_ID = "loadaware.io/prediction-id"
REQUESTED = "loadaware.io/requested"
SOURCE = "loadaware.io/source"

ENV_BYTES = "LOADAWARE_MEMORY_BYTES"
ENV_MIB = "LOADAWARE_MEMORY_MIB_"  # and a percentage, 1 to 100
_REFERENCE = re.compile(r"\$\(" + ENV_MIB + r"(100|[1-9]\d?)\)")


def base_container(pod: Any, name: str) -> Any:
    """The container of that name, else the first. IndexError if there is none."""
    return next((c for c in pod.spec.containers if c.name == name), None) or pod.spec.containers[0]


def static_of(container: Any) -> Static:
    """What a container asks for. What cannot be read counts as not said."""
    requests = (container.resources and container.resources.requests) or {}
    limits = (container.resources and container.resources.limits) or {}
    return Static(
        memory_request=_read(parse_bytes, requests.get("memory")),
        memory_limit=_read(parse_bytes, limits.get("memory")),
        cpu_request=_read(parse_cores, requests.get("cpu")),
        cpu_limit=_read(parse_cores, limits.get("cpu")),
    )


@dataclass(frozen=True)
class Before:
    """What a base container and its pod were before anything of ours."""

    pod: Any
    container: Any
    resources: Any
    env: Any
    annotations: Any

    @classmethod
    def of(cls, pod: Any, base: str) -> Before:
        """Of a pod that is not sized yet."""
        container = base_container(pod, base)
        return cls(pod, container, container.resources, container.env, pod.metadata.annotations)

    def restore(self) -> None:
        """Takes everything of ours out again."""
        self.container.resources = self.resources
        self.container.env = self.env
        self.pod.metadata.annotations = self.annotations


def apply(pod: Any, base: str, grant: Grant, static: Static) -> None:
    """Writes a grant into the base container: memory, the CPU request, and notes for later.

    Everything else that it requests stays: graphics cards, ephemeral storage, claims and a CPU limit.
    """
    container = base_container(pod, base)
    old = container.resources or k8s.V1ResourceRequirements()
    requests = {**(old.requests or {}), "memory": format_bytes(grant.memory_request)}
    limits = {**(old.limits or {}), "memory": format_bytes(grant.memory_limit)}
    if grant.cpu_request is not None:
        # Kubernetes refuses a request above its limit.
        cores = min(grant.cpu_request, static.cpu_limit or grant.cpu_request)
        requests["cpu"] = f"{max(1, round(cores * 1000))}m"
    container.resources = k8s.V1ResourceRequirements(
        requests=requests, limits=limits, claims=getattr(old, "claims", None)
    )
    note(pod, static, grant.prediction_id, {SOURCE: grant.source})
    offer(container, grant.memory_limit)


def note(pod: Any, static: Static, prediction_id: str | None, more: Mapping[str, str] | None = None) -> None:
    """Leaves notes on a pod, sized or not, for the report at its end."""
    notes = {**(more or {}), REQUESTED: json.dumps(static.requested() or {})}
    if prediction_id:
        notes[PREDICTION_ID] = prediction_id
    pod.metadata.annotations = {**(pod.metadata.annotations or {}), **notes}


def offer(container: Any, count: int | None) -> None:
    """Tells the program its memory: programs that size themselves fail when their guess is above the limit.

    The shares that the command, the arguments or the environment refer to stand in front, where variables
    that use them can see them.
    """
    if count is None:
        return
    own = list(container.env or [])
    texts = [*(container.command or []), *(container.args or []), *(v.value for v in own if v.value)]
    percents = sorted({int(p) for text in texts for p in _REFERENCE.findall(str(text))})
    ours = {
        ENV_BYTES: str(count),
        **{f"{ENV_MIB}{p}": str(max(1, count * p // 100 // MIB)) for p in percents},
    }
    taken = {v.name for v in own}
    container.env = [*(k8s.V1EnvVar(name=k, value=v) for k, v in ours.items() if k not in taken), *own]


def notes_of(pod: Any) -> tuple[str | None, dict[str, Any] | None]:
    """The prediction and the static request that `apply` or `note` left on a pod."""
    annotations = (pod.metadata and pod.metadata.annotations) or {}
    try:
        requested = json.loads(annotations.get(REQUESTED) or "null")
    except ValueError:
        requested = None
    return annotations.get(PREDICTION_ID), requested if isinstance(requested, dict) and requested else None


def try_number_of(pod: Any) -> int | None:
    """The number of the try that a pod was launched for, as Airflow labels it."""
    label = str(((pod.metadata and pod.metadata.labels) or {}).get("try_number", ""))
    return int(label) if label.isdecimal() and int(label) > 0 else None


def _read(parse: Any, quantity: Any) -> Any:
    try:
        return parse(quantity) or None
    except ValueError:
        return None
