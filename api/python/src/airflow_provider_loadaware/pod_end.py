"""The end of a pod, read from Kubernetes by an operator or a callback."""

from __future__ import annotations

from typing import Any

from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import resizer
from airflow_provider_loadaware.report import End

LOG_LINES, LOG_BYTES = 60, 1 << 20  # size of the end of the log that is searched for an out-of-memory error
_TIMEOUT_SECONDS = 2.0  # of one call to Kubernetes


def end_of(operator: Any, pod: Any | None, error: BaseException | None) -> End:
    """Stop resizing the pod of a try, and return the end of the try.

    `End.pod` is the current state of the pod, or `pod` if Kubernetes cannot be read. It is None if the try has no pod
    or the pod is gone.
    """
    return End(
        pod=reread(operator, pod),
        last=pod,
        base=operator.base_container_name,
        read_log=lambda: log_tail(operator, pod),
        launch_timed_out=_is_instance(error, "PodLaunchTimeoutException"),
        stopped=bool(getattr(operator, "_killed", False)),
        launched=pod is not None,
        executed=resizer.stop(operator),
    )


def is_pod_lost(error: BaseException | None) -> bool:
    """Return whether Airflow failed the try because its pod is gone."""
    return _is_instance(error, "PodNotFoundException")


def reread(operator: Any, pod: Any | None) -> Any | None:
    """Return the current state of a pod: `pod` if the read fails, None if the pod is gone."""
    if pod is None:
        return None
    try:
        name, namespace = pod.metadata.name, pod.metadata.namespace
        return operator.client.read_namespaced_pod(name, namespace, _request_timeout=_TIMEOUT_SECONDS)
    except ApiException as error:
        return None if error.status == 404 else pod
    except Exception:  # noqa: BLE001 - the last known state is better than none
        return pod


def log_tail(operator: Any, pod: Any) -> str:
    """Return the last log lines of the base container, or "" if they cannot be read."""
    try:
        # Do not preload: some versions of the Kubernetes client decode a log to text like "b'one\\ntwo'".
        answer = operator.client.read_namespaced_pod_log(
            pod.metadata.name,
            pod.metadata.namespace,
            container=operator.base_container_name,
            tail_lines=LOG_LINES,
            limit_bytes=LOG_BYTES,
            _request_timeout=_TIMEOUT_SECONDS,
            _preload_content=False,
        )
        return bytes(answer.data).decode(errors="replace")
    except Exception:  # noqa: BLE001 - the log is optional
        return ""


def _is_instance(error: BaseException | None, name: str) -> bool:
    """Return whether an error has a class of this name. Names are compared, because provider versions move classes."""
    return error is not None and any(kind.__name__ == name for kind in type(error).__mro__)
