"""The base container of a pod: functions that read its static request, apply a grant and restore the original.

The pod shares its resources, variables and annotations with the operator and its rendered fields, so the functions
replace these objects and never change them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes.client import models as k8s

from airflow_provider_loadaware import plan as plans
from airflow_provider_loadaware.grant import Grant, Static
from airflow_provider_loadaware.plan import Plan
from airflow_provider_loadaware.quantity import MIB, format_bytes, parse_bytes, parse_cores

PREDICTION_ID = "loadaware.io/prediction-id"
REQUESTED = "loadaware.io/requested"
SOURCE = "loadaware.io/source"

ENV_BYTES = "LOADAWARE_MEMORY_BYTES"
ENV_MIB = "LOADAWARE_MEMORY_MIB_"  # followed by a percentage, 1 to 100
_REFERENCE = re.compile(r"\$\(" + ENV_MIB + r"(100|[1-9]\d?)\)")


def base_container(pod: Any, name: str) -> Any:
    """Return the container of that name, or else the first. Raises IndexError if there is none."""
    return next((c for c in pod.spec.containers if c.name == name), None) or pod.spec.containers[0]


def static_of(container: Any) -> Static:
    """Return the static resources of a container. A quantity that is unreadable or zero counts as not set."""
    requests = (container.resources and container.resources.requests) or {}
    limits = (container.resources and container.resources.limits) or {}
    return Static(
        memory_request=_read(parse_bytes, requests.get("memory")),
        memory_limit=_read(parse_bytes, limits.get("memory")),
        cpu_request=_read(parse_cores, requests.get("cpu")),
        cpu_limit=_read(parse_cores, limits.get("cpu")),
    )


@dataclass(frozen=True)
class Snapshot:
    """The original fields of a pod and its base container."""

    pod: Any
    container: Any
    resources: Any
    env: Any
    annotations: Any

    @classmethod
    def of(cls, pod: Any, base: str) -> Snapshot:
        """Take a snapshot of a pod that is not sized yet."""
        container = base_container(pod, base)
        return cls(pod, container, container.resources, container.env, pod.metadata.annotations)

    def restore(self) -> None:
        """Restore the original fields."""
        self.container.resources = self.resources
        self.container.env = self.env
        self.pod.metadata.annotations = self.annotations


def apply(pod: Any, base: str, grant: Grant, static: Static) -> None:
    """Apply a grant to the base container: memory, the CPU request, annotations and environment variables.

    GPUs, ephemeral storage, claims and a CPU limit do not change.
    """
    container = base_container(pod, base)
    old = container.resources or k8s.V1ResourceRequirements()
    requests = {**(old.requests or {}), "memory": format_bytes(grant.memory_request)}
    limits = {**(old.limits or {}), "memory": format_bytes(grant.memory_limit)}
    if grant.cpu_request is not None:
        # Kubernetes rejects a request above the limit.
        cores = min(grant.cpu_request, static.cpu_limit or grant.cpu_request)
        requests["cpu"] = f"{max(1, round(cores * 1000))}m"
    container.resources = k8s.V1ResourceRequirements(
        requests=requests, limits=limits, claims=getattr(old, "claims", None)
    )
    annotate(pod, static, grant.prediction_id, {SOURCE: grant.source})
    set_memory_env(container, grant.memory_limit)


def start_with(pod: Any, base: str, plan: Plan) -> None:
    """Let a pod with the static grant start with the amounts of its plan.

    The environment variables of set_memory_env keep the static grant, because the limit can grow to it and beyond while
    the pod runs.
    """
    plans.annotate(pod, plan)
    container = base_container(pod, base)
    requests, limits = dict(container.resources.requests), dict(container.resources.limits)
    if plan.resizes_memory:
        requests["memory"] = format_bytes(plan.request_of(plan.start_bytes))
        limits["memory"] = format_bytes(plan.start_limit)
    if plan.resizes_cpu and plan.start_cpu is not None:
        requests["cpu"] = f"{plan.bounded_cpu(plan.start_cpu)}m"
    container.resources = k8s.V1ResourceRequirements(
        requests=requests, limits=limits, claims=getattr(container.resources, "claims", None)
    )


def annotate(pod: Any, static: Static, prediction_id: str | None, more: Mapping[str, str] | None = None) -> None:
    """Annotate a pod, sized or not, with the data that its report needs later."""
    annotations = {**(more or {}), REQUESTED: json.dumps(static.to_request() or {})}
    if prediction_id:
        annotations[PREDICTION_ID] = prediction_id
    pod.metadata.annotations = {**(pod.metadata.annotations or {}), **annotations}


def set_memory_env(container: Any, count: int | None) -> None:
    """Set ENV_BYTES, and ENV_MIB for each percentage that the container refers to, for programs that size themselves.

    The new variables come before the author's own: a variable can only use variables that are defined before it.
    They do not replace a variable of the author.
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


def read_annotations(pod: Any) -> tuple[str | None, dict[str, Any] | None]:
    """Return the prediction id and the static request that `apply` or `annotate` wrote."""
    annotations = (pod.metadata and pod.metadata.annotations) or {}
    try:
        requested = json.loads(annotations.get(REQUESTED) or "null")
    except ValueError:
        requested = None
    return annotations.get(PREDICTION_ID), requested if isinstance(requested, dict) and requested else None


def try_number_of(pod: Any) -> int | None:
    """Return the number of the try that launched a pod, from Airflow's label."""
    label = str(((pod.metadata and pod.metadata.labels) or {}).get("try_number", ""))
    return int(label) if label.isdecimal() and int(label) > 0 else None


def _read(parse: Any, quantity: Any) -> Any:
    try:
        return parse(quantity) or None
    except ValueError:
        return None
