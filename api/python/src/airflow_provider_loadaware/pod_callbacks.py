"""Sizing for KubernetesPodOperators whose class is not ours: the policy appends this to their callbacks."""

from __future__ import annotations

from typing import Any

from airflow.providers.cncf.kubernetes.callbacks import KubernetesPodOperatorCallback

from airflow_provider_loadaware import watch
from airflow_provider_loadaware.creation import show_pod, size
from airflow_provider_loadaware.outcome import base_end
from airflow_provider_loadaware.sizing import Options, Sizing, fail_open


class SizingCallback(KubernetesPodOperatorCallback):
    """Sizes a pod before it is created, and reports its end while it still exists.

    What ends otherwise, such as a launch that timed out, is reported by `callbacks`.
    """

    @staticmethod
    def on_pod_manifest_created(*, pod_request: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """After pod_mutation_hook, once for each try."""
        size(operator, pod_request, context)

    @staticmethod
    def on_pod_completion(*, pod: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """Before the pod is deleted, on success and on failure."""
        with fail_open(operator.log, "reporting"):
            end = watch.end_of(operator, pod or operator.pod, None)
            Sizing(Options(), context, operator.log).finish(end)
            show_pod(operator, end.pod, context)

    @staticmethod
    def on_operator_resuming(*, pod: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """After a deferral, with providers that do not tell of the completion then."""
        with fail_open(operator.log, "reporting"):
            if base_end(pod, operator.base_container_name).exit_code is not None:
                SizingCallback.on_pod_completion(pod=pod, operator=operator, context=context)
