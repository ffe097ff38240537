"""Sizing without changing a DAG: hooks of Airflow's entry point `airflow.policy`.

`task_policy` runs while DAGs are parsed. It asks nobody anything: it appends callbacks to those
KubernetesPodOperators that the settings allow. `pod_mutation_hook` is for pods of whose launch no callback is
told: those of KubernetesJobOperator, and those of deferrable tasks with older providers. It acts only inside a
running task, never in the scheduler.

    policy_allow ... globs of dag_id.task_id that are sized; none by default, "*" for all
    policy_deny .... globs that are left alone
    the annotation loadaware.io/enabled: "true" or "false" of a task stands above both
"""

from __future__ import annotations

import fnmatch
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
    """Appends the callbacks to a task that is opted in. A mapped task's go into what is common to its indices."""
    with _quiet("task_policy"):
        if settings.disabled():
            return
        kinds = _kinds(task)
        if "KubernetesPodOperator" not in kinds or "SizerMixin" in kinds or not _wanted(task):
            return
        from airflow_provider_loadaware import callbacks
        from airflow_provider_loadaware.pod_callbacks import SizingCallback

        if _launches_unseen(task, kinds):
            _set(task, "annotations", {**(_get(task, "annotations") or {}), ENABLED: BY_HOOK})
            _append(task, "on_success_callback", callbacks.on_success)
        _append(task, "callbacks", SizingCallback)
        _append(task, "on_failure_callback", callbacks.on_failure)
        _append(task, "on_retry_callback", callbacks.on_retry)


@hookimpl  # type: ignore[untyped-decorator, unused-ignore]
def pod_mutation_hook(pod: Any) -> None:
    """Sizes a pod that is marked for it, in the process of the task that creates it."""
    with _quiet("pod_mutation_hook"):
        annotations = (pod.metadata and pod.metadata.annotations) or {}
        if annotations.get(ENABLED) != BY_HOOK or settings.disabled():
            return
        from airflow_provider_loadaware._compat import current_context
        from airflow_provider_loadaware.creation import size

        context = current_context()
        if context is not None:
            size(context["task"], pod, context)


def _launches_unseen(task: Any, kinds: set[str]) -> bool:
    """Whether the operator tells no callback of the pod that it is about to create."""
    if "KubernetesJobOperator" in kinds:
        return True
    launch = getattr(getattr(task, "operator_class", None) or type(task), "execute_async", None)
    names = getattr(getattr(launch, "__code__", None), "co_names", ())
    return bool(_get(task, "deferrable")) and "on_pod_manifest_created" not in names


def _wanted(task: Any) -> bool:
    said = str((_get(task, "annotations") or {}).get(ENABLED, "")).lower()
    if said in ("true", "false"):
        return said == "true"
    name = f"{task.dag_id}.{task.task_id}"
    return _matches(name, settings.names("policy_allow")) and not _matches(name, settings.names("policy_deny"))


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _kinds(task: Any) -> set[str]:
    """The names of a task's classes. By name, so that parsing a DAG without pods imports no Kubernetes."""
    kind = getattr(task, "operator_class", None) or type(task)
    return {c.__name__ for c in getattr(kind, "__mro__", ())}


def _append(task: Any, name: str, added: Any) -> None:
    """One more in a list that may be none, one thing or a list, and may be shared by tasks."""
    now = _get(task, name)
    have = list(now) if isinstance(now, (list, tuple)) else [now] if now else []
    if added not in have:
        _set(task, name, [*have, added])


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
def _quiet(doing: str) -> Iterator[None]:
    """A policy that raises breaks the DAG, so this one does not."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - any error of ours
        log.warning("loadaware: %s left a task alone (%s: %s)", doing, type(error).__name__, error)
