"""Sizing without changing a DAG: hooks of Airflow's cluster policy (entry point `airflow.policy`).

`task_policy` runs while Airflow parses DAGs, and opens no connection. It appends callbacks to the allowed
KubernetesPodOperators without SizerMixin. It also marks the operators whose launch triggers no callback. These are
KubernetesJobOperator, and deferrable operators with versions of the cncf-kubernetes provider before 10.12.
`pod_mutation_hook` sizes the pods of marked operators, and acts only inside a running task.
`task_instance_mutation_hook` moves the tasks of a campaign to its Airflow pool.

    policy_allow ... globs of dag_id.task_id to size; none by default, "*" for all
    policy_deny .... globs not to size
    the pod annotation loadaware.io/enabled: "true" or "false" overrides both
"""

from __future__ import annotations

import fnmatch
import inspect
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pluggy

from airflow_provider_loadaware import settings

hookimpl = pluggy.HookimplMarker("airflow.policy")
log = logging.getLogger(__name__)

ENABLED = "loadaware.io/enabled"
BY_HOOK = "hook"  # the value of ENABLED on pods that pod_mutation_hook sizes


@hookimpl  # type: ignore[untyped-decorator, unused-ignore]
def task_policy(task: Any) -> None:
    """Append the callbacks to an enabled task. For a mapped task, they apply to all map indexes."""
    with _fail_open("task_policy"):
        if settings.is_disabled():
            return
        class_names = _class_names(task)
        if "KubernetesPodOperator" not in class_names or "SizerMixin" in class_names or not _is_enabled(task):
            return
        from airflow_provider_loadaware import callbacks
        from airflow_provider_loadaware.pod_callbacks import SizingCallback

        if _lacks_launch_callback(task, class_names):
            _set(task, "annotations", {**(_get(task, "annotations") or {}), ENABLED: BY_HOOK})
            _append(task, "on_success_callback", callbacks.on_success)
        _append(task, "callbacks", SizingCallback)
        _append(task, "on_failure_callback", callbacks.on_failure)
        _append(task, "on_retry_callback", callbacks.on_retry)


@hookimpl  # type: ignore[untyped-decorator, unused-ignore]
def pod_mutation_hook(pod: Any) -> None:
    """Size a marked pod in the process of the task that creates it."""
    with _fail_open("pod_mutation_hook"):
        annotations = (pod.metadata and pod.metadata.annotations) or {}
        if annotations.get(ENABLED) != BY_HOOK or settings.is_disabled():
            return
        from airflow_provider_loadaware._compat import current_context
        from airflow_provider_loadaware.creation import size

        context = current_context()
        if context is not None:
            size(context["task"], pod, context)


def _lacks_launch_callback(task: Any, class_names: set[str]) -> bool:
    """Return whether no callback precedes the pod: before cncf-kubernetes 10.12, execute_async calls none."""
    if "KubernetesJobOperator" in class_names:
        return True
    launch = getattr(getattr(task, "operator_class", None) or type(task), "execute_async", None)
    names = getattr(getattr(launch, "__code__", None), "co_names", ())
    return bool(_get(task, "deferrable")) and "on_pod_manifest_created" not in names


def _is_enabled(task: Any) -> bool:
    value = str((_get(task, "annotations") or {}).get(ENABLED, "")).lower()
    if value in ("true", "false"):
        return value == "true"
    name = f"{task.dag_id}.{task.task_id}"
    return _matches(name, settings.names("policy_allow")) and not _matches(name, settings.names("policy_deny"))


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _class_names(task: Any) -> set[str]:
    """Return names, so that a comparison imports no operator (and Kubernetes with it) for a DAG without pods."""
    kind = getattr(task, "operator_class", None) or type(task)
    return {c.__name__ for c in getattr(kind, "__mro__", ())}


def _append(task: Any, name: str, added: Any) -> None:
    """Append to a copy of a list, because tasks may share the list."""
    value = _get(task, name)
    present = list(value) if isinstance(value, (list, tuple)) else [value] if value else []
    if added not in present:
        _set(task, name, [*present, added])


def _get(task: Any, name: str) -> Any:
    partial = getattr(task, "partial_kwargs", None)
    return partial.get(name) if partial is not None else getattr(task, name, None)


def _set(task: Any, name: str, value: Any) -> None:
    partial = getattr(task, "partial_kwargs", None)
    if partial is not None:
        partial[name] = value
    else:
        setattr(task, name, value)


@contextmanager
def _fail_open(operation: str) -> Iterator[None]:
    """Turn any error into a warning, because a hook of the cluster policy that raises breaks the DAG."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - see above
        log.warning("loadaware: %s failed; continuing without it (%s: %s)", operation, type(error).__name__, error)


def _set_pool(task_instance: Any, dag_run: Any) -> None:
    if dag_run is None or not str(dag_run.run_id).startswith("loadaware_campaign__"):
        return
    pool = (dag_run.conf or {}).get("loadaware_pool")
    if pool:
        task_instance.pool = str(pool)


def _mutate_with_run(task_instance: Any, dag_run: Any) -> None:
    with _fail_open("task_instance_mutation_hook"):
        _set_pool(task_instance, dag_run)


def _mutate(task_instance: Any) -> None:
    """Set the pool of a task instance, in versions of Airflow that pass no DAG run to the hook."""
    _mutate_with_run(task_instance, getattr(task_instance, "dag_run", None))


def _mutation_hook() -> Any:
    from airflow.policies import task_instance_mutation_hook as specification

    has_run = "dag_run" in inspect.signature(specification).parameters
    return hookimpl(_mutate_with_run if has_run else _mutate)


# Airflow inserts task instances more slowly if this hook exists, so it is defined only if the setting is on.
if settings.campaign_pools():
    task_instance_mutation_hook = _mutation_hook()
