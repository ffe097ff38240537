"""What an operator or a callback knows of a pod's end, read from Kubernetes."""

from __future__ import annotations

from typing import Any

from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware.report import End

LOG_LINES, LOG_BYTES = 60, 1 << 20
_SECONDS = 2.0


def end_of(operator: Any, pod: Any | None, error: BaseException | None) -> End:
    """The end of a try: its pod as it is now, or as it was last seen if Kubernetes does not say."""
    return End(
        pod=reread(operator, pod),
        last=pod,
        base=operator.base_container_name,
        read_log=lambda: log_tail(operator, pod),
        launch_timed_out=_is(error, "PodLaunchTimeoutException"),
        stopped=bool(getattr(operator, "_killed", False)),
        launched=pod is not None,
    )


def tells_of_a_lost_pod(error: BaseException | None) -> bool:
    """Whether Airflow gave a try up since its pod is not there any more."""
    return _is(error, "PodNotFoundException")


def reread(operator: Any, pod: Any | None) -> Any | None:
    """The pod as it is now; None if there is none any more."""
    if pod is None:
        return None
    try:
        return operator.client.read_namespaced_pod(pod.metadata.name, pod.metadata.namespace, _request_timeout=_SECONDS)
    except ApiException as error:
        return None if error.status == 404 else pod
    except Exception:  # noqa: BLE001 - an older sight of it is better than none
        return pod


def log_tail(operator: Any, pod: Any) -> str:
    """The last lines of the base container; "" if they cannot be read."""
    try:
        # Unread: some versions of the Kubernetes client make text like "b'one\\ntwo'" of a log that they read.
        answer = operator.client.read_namespaced_pod_log(
            pod.metadata.name,
            pod.metadata.namespace,
            container=operator.base_container_name,
            tail_lines=LOG_LINES,
            limit_bytes=LOG_BYTES,
            _request_timeout=_SECONDS,
            _preload_content=False,
        )
        return bytes(answer.data).decode(errors="replace")
    except Exception:  # noqa: BLE001 - without a log the exit code decides
        return ""


def _is(error: BaseException | None, name: str) -> bool:
    """By name: providers move and add exceptions between their versions."""
    return error is not None and any(kind.__name__ == name for kind in type(error).__mro__)
