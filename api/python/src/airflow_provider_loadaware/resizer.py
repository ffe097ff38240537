"""Resizing of the pod of a task in the worker: in a thread beside a synchronous operator that waits for the pod.

A deferrable task only returns to its static grant here, in the calling thread; its trigger does the rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from kubernetes import client as kubernetes

from airflow_provider_loadaware import plan as plans
from airflow_provider_loadaware.plan import Plan
from airflow_provider_loadaware.resize_control import Controller
from airflow_provider_loadaware.resize_requests import (
    Ask,
    Execution,
    Failure,
    ReadPod,
    ReadUsage,
    Request,
    Requests,
    Resize,
    Sleep,
)
from airflow_provider_loadaware.service import Deadline, Service

KUBERNETES_SECONDS = 5.0  # for one call
METRICS_API = ("metrics.k8s.io", "v1beta1")
RETURN_SECONDS = 30.0  # how long a worker tries to set the static grant; see return_to_static


class Resizer:
    """Executes the plan of one pod.

    `core` returns the current client, because the operator replaces it when its credentials expire. `service` is the
    Service, or the exception that prevented the connection.
    """

    def __init__(
        self, core: Callable[[], Any], pod: Any, base: str, plan: Plan, key: dict[str, Any], service: Any, log: Any
    ) -> None:
        self._core = core
        self._name, self._namespace = pod.metadata.name, pod.metadata.namespace
        self._service = service
        self._log = log
        self._stopped = threading.Event()
        self._controller = Controller(plan, base, key, log)

    @property
    def execution(self) -> Execution:
        """What was done so far."""
        return self._controller.execution

    def start(self) -> None:
        """Execute the plan in a daemon thread, which does not keep a finished task alive."""
        threading.Thread(target=self._run, name="loadaware-resizer", daemon=True).start()

    def stop(self) -> None:
        """End the thread soon."""
        self._stopped.set()

    def return_to_static(self, reason: str) -> None:
        """Try to set the static grant now. After RETURN_SECONDS, no request begins and no sleep continues."""
        self._drive(self._controller.return_to_static(reason), time.monotonic() + RETURN_SECONDS)

    def _run(self) -> None:
        try:
            self._drive(self._controller.run(), None)
        except Exception as error:  # noqa: BLE001 - the pod must not stay small after an error of this program
            self._log.warning("loadaware: plan: internal error (%s: %s)", type(error).__name__, error)
            self._drive(self._controller.return_to_static(f"internal error: {error}"), None)

    def _drive(self, requests: Requests, until: float | None) -> None:
        result: Any = None
        while not self._stopped.is_set() and (until is None or time.monotonic() < until):
            try:
                request = requests.send(result)
            except StopIteration:
                return
            result = self._perform(request, until)

    def _perform(self, request: Request, until: float | None) -> Any:
        if isinstance(request, Sleep):
            left = request.seconds if until is None else until - time.monotonic()
            return self._stopped.wait(min(request.seconds, left))
        try:
            return self._call(request)
        except Exception as error:  # noqa: BLE001 - the controller decides what a failure means
            return Failure.of(error)

    def _call(self, request: Request) -> Any:
        core = self._core()
        of_pod = {"name": self._name, "namespace": self._namespace, "_request_timeout": KUBERNETES_SECONDS}
        if isinstance(request, ReadPod):
            return core.api_client.sanitize_for_serialization(core.read_namespaced_pod(**of_pod))
        if isinstance(request, ReadUsage):
            metrics = kubernetes.CustomObjectsApi(core.api_client)
            return metrics.get_namespaced_custom_object(*METRICS_API, plural="pods", **of_pod)
        if isinstance(request, Resize):
            return core.patch_namespaced_pod_resize(body=request.body, **of_pod) and {}
        assert isinstance(request, Ask)
        return ask(self._service, request)


def start(operator: Any, pod: Any, sizing: Any) -> None:
    """Execute the plan of a synchronous task's pod, if it has one. Gets the service in the calling thread."""
    plan = plans.of_pod(pod)
    if plan is None:
        return
    operator.loadaware_resizer = of_operator(operator, pod, plan, sizing)
    operator.loadaware_resizer.start()


def of_operator(operator: Any, pod: Any, plan: Plan, sizing: Any) -> Resizer:
    """Return the Resizer of an operator's pod."""
    try:
        service: Any = sizing.hook.get_conn()
    except Exception as error:  # noqa: BLE001 - then the pod returns to the static grant
        service = error
    key = sizing.try_key().body()
    return Resizer(lambda: operator.client, pod, operator.base_container_name, plan, key, service, operator.log)


def stop(operator: Any) -> dict[str, Any] | None:
    """Stop executing the plan of an operator's pod, and return how it was executed, or None if unknown."""
    running = getattr(operator, "loadaware_resizer", None)
    if running is None:
        return getattr(operator, "loadaware_execution", None)
    running.stop()
    return dict(running.execution.to_dict())


def ask(service: Any, request: Ask) -> dict[str, Any]:
    """Send POST /phase to a service, or raise the exception that prevented the connection."""
    if not isinstance(service, Service):
        raise service
    return service.phase(request.body, Deadline()).to_dict()
