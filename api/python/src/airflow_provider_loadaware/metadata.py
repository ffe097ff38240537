"""Metadata of a try: static facts that place a task without history among the tasks of its namespace.

    operator ............... class name, without leading underscores and the prefix "Sized"
    image .................. of the base container, without its tag and digest, which change with every build
    owner, pool, queue ..... of the task
    tags ................... of the DAG
    params ................. names of the declared params that do not look like a secret
    gpu .................... GPU limits of the base container, such as nvidia.com/gpu=1
    kubernetes_namespace ... of the pod
    node_selector .......... of the pod, such as pool=highmem

Metadata contain nothing else: no values of params, arguments, environment variables, labels or connections. Values
that are missing, unreadable or beyond the limits are left out. `loadaware import airflow` uses the same rules.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from airflow_provider_loadaware import features
from airflow_provider_loadaware.pod import base_container

MAX_VALUES = 30
MAX_TEXT = 200
_LISTS = frozenset({"tags", "params", "gpu", "node_selector"})


def of_try(context: Mapping[str, Any], pod: Any | None, base: str) -> dict[str, str | list[str]]:
    """Return the metadata of a try. `pod` is None for a try without a pod. Raises nothing."""
    task: Any = context.get("task")
    dag: Any = context.get("dag")
    reads: dict[str, Callable[[], Iterable[Any]]] = {
        "operator": lambda: [task.task_type.lstrip("_").removeprefix("Sized")],
        "owner": lambda: [task.owner],
        "pool": lambda: [task.pool],
        "queue": lambda: [task.queue],
        "tags": lambda: dag.tags,
        "params": lambda: features.declared_names(context),
    }
    if pod is not None:
        reads |= {
            "image": lambda: [_image(base_container(pod, base).image)],
            "gpu": lambda: [
                f"{name}={count}" for name, count in base_container(pod, base).resources.limits.items() if "gpu" in name
            ],
            "kubernetes_namespace": lambda: [pod.metadata.namespace],
            "node_selector": lambda: [f"{label}={value}" for label, value in pod.spec.node_selector.items()],
        }
    found: dict[str, str | list[str]] = {}
    for name, read in reads.items():
        with contextlib.suppress(Exception):  # other versions of Airflow and other operators lack attributes, or raise
            values = _valid_texts(read())
            if values:
                found[name] = values if name in _LISTS else values[0]
    return found


def _image(reference: str) -> str:
    path, slash, name = reference.partition("@")[0].rpartition("/")
    return path + slash + name.partition(":")[0]


def _valid_texts(values: Iterable[Any]) -> list[str]:
    texts = {v for v in values if isinstance(v, str) and 0 < len(v) <= MAX_TEXT and v.isprintable()}
    return sorted(texts)[:MAX_VALUES]
