"""Sizing for KubernetesPodOperators whose class is not ours: the policy appends this to their callbacks."""

from __future__ import annotations

import functools
from typing import Any

from airflow.providers.cncf.kubernetes.callbacks import KubernetesPodOperatorCallback

from airflow_provider_loadaware import watch
from airflow_provider_loadaware.operators import create_or_undo, show
from airflow_provider_loadaware.sizing import Options, Sizing, fail_open


class SizingCallback(KubernetesPodOperatorCallback):
    """Sizes a pod before it is created, and reports its end while it still exists.

    What ends otherwise, such as a launch that timed out, is reported by `callbacks`.
    """

    @staticmethod
    def on_pod_manifest_created(*, pod_request: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """After pod_mutation_hook, once for each try."""
        with fail_open(operator.log, "sizing"):
            launch = Sizing(Options(), context, operator.log).launch(pod_request, operator.base_container_name)
            show(operator, launch, context)
            # No callback is called for a refused pod, so the creation itself is guarded.
            create = operator.get_or_create_pod
            operator.get_or_create_pod = functools.partial(_create, operator, create, launch)

    @staticmethod
    def on_pod_completion(*, pod: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """Before the pod is deleted, on success and on failure."""
        with fail_open(operator.log, "reporting"):
            end = watch.end_of(operator, pod or operator.pod, None)
            Sizing(Options(), context, operator.log).finish(end)


def _create(operator: Any, create: Any, launch: Any, pod_request_obj: Any, context: Any) -> Any:
    return create_or_undo(operator, create, launch, pod_request_obj, context)
