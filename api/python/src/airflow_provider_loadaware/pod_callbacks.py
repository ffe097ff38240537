"""Sizing for KubernetesPodOperators without SizerMixin.

Airflow's cluster policy (policy.py) appends SizingCallback to their callbacks.
"""

from __future__ import annotations

from typing import Any

from airflow.providers.cncf.kubernetes.callbacks import KubernetesPodOperatorCallback

from airflow_provider_loadaware import pod_end
from airflow_provider_loadaware.creation import show_pod, size
from airflow_provider_loadaware.outcome import base_end
from airflow_provider_loadaware.sizing import Options, Sizing, fail_open


class SizingCallback(KubernetesPodOperatorCallback):
    """Sizes a pod before its creation and reports its end while the pod still exists.

    The module `callbacks` reports ends that this class does not see, such as a launch timeout.
    """

    @staticmethod
    def on_pod_manifest_created(*, pod_request: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """Size the pod. Airflow calls this when it starts a try, after pod_mutation_hook."""
        size(operator, pod_request, context)

    @staticmethod
    def on_pod_completion(*, pod: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """Report the end. Airflow calls this before it deletes the pod, on success and on failure."""
        with fail_open(operator.log, "reporting"):
            end = pod_end.end_of(operator, pod or operator.pod, None)
            Sizing(Options(), context, operator.log).finish(end)
            show_pod(operator, end.pod, context)

    @staticmethod
    def on_operator_resuming(*, pod: Any, operator: Any, context: Any, **kwargs: Any) -> None:
        """Report the end of a deferred try: before 10.12, cncf-kubernetes does not call on_pod_completion for it."""
        with fail_open(operator.log, "reporting"):
            if base_end(pod, operator.base_container_name).exit_code is not None:
                SizingCallback.on_pod_completion(pod=pod, operator=operator, context=context)
