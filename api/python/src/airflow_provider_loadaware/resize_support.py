"""Whether a pod can be resized, decided before its launch: a pod that starts small must be able to grow."""

from __future__ import annotations

from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes import client as kubernetes

from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.plan import Plan
from airflow_provider_loadaware.resize_requests import Failure
from airflow_provider_loadaware.transport import run_with_timeout

PROBE_SECONDS = 1.0  # for all calls together
MIN_VERSION = (1, 33)  # the first version that has the subresource `resize` by default
_METRICS = "metrics.k8s.io"


def problem(operator: Any, request: Any, plan: Plan) -> str | None:
    """Return why the pod `request` cannot follow a plan, or None if it can."""
    if plan.acts:
        found = _problem_of_pod(request, operator.base_container_name, plan) or _problem_of_operator(operator)
        if found is not None:
            return found
    core = operator.client
    try:
        return run_with_timeout(PROBE_SECONDS, lambda: _problem_of_cluster(core, request.metadata.namespace, plan))
    except Exception as error:  # noqa: BLE001 - a cluster that does not answer cannot be relied on later
        return f"Kubernetes does not say whether the pod can follow a plan ({Failure.of(error)})"


def _problem_of_pod(request: Any, base: str, plan: Plan) -> str | None:
    container = pods.base_container(request, base)
    for rule in getattr(container, "resize_policy", None) or ():
        resized = plan.resizes_memory if rule.resource_name == "memory" else plan.resizes_cpu
        if resized and rule.restart_policy == "RestartContainer":
            return f"the resizePolicy of the pod restarts the container when {rule.resource_name} changes"
    if _is_guaranteed(request):
        return "the QoS class of the pod is Guaranteed, so its limit cannot grow without its request"
    return None


def _is_guaranteed(request: Any) -> bool:
    """Return whether the QoS class is Guaranteed: each container has limits of memory and CPU, and no lower request."""
    for container in (*request.spec.containers, *(request.spec.init_containers or ())):
        static = pods.static_of(container)
        for wanted, limit in ((static.memory_request, static.memory_limit), (static.cpu_request, static.cpu_limit)):
            if limit is None or (wanted is not None and wanted != limit):
                return False
    return True


def _problem_of_operator(operator: Any) -> str | None:
    """Return why an operator cannot follow a plan, or None if it can.

    ResizingPodTrigger, for pods of deferrable tasks, replaces only the trigger of KubernetesPodOperator.
    """
    if not operator.deferrable:
        return None
    if not hasattr(operator, "loadaware_resume_static"):
        return "a deferrable task needs SizerMixin"
    if type(operator).invoke_defer_method is not KubernetesPodOperator.invoke_defer_method:
        return f"{type(operator).__name__} has a trigger of its own"
    return None


def _problem_of_cluster(core: Any, namespace: str, plan: Plan) -> str | None:
    connection = core.api_client
    if plan.acts:
        if not hasattr(core, "patch_namespaced_pod_resize"):
            return "the Python client of Kubernetes is older than 32"
        version = kubernetes.VersionApi(connection).get_code(_request_timeout=PROBE_SECONDS)
        if _number(version.major, version.minor) < MIN_VERSION:
            return f"Kubernetes {version.major}.{version.minor} cannot resize pods in place; 1.33 can"
    groups = kubernetes.ApisApi(connection).get_api_versions(_request_timeout=PROBE_SECONDS).groups
    if _METRICS not in {group.name for group in groups}:
        return f"the cluster has no {_METRICS}; install metrics-server"
    needed = [("get", _METRICS, "pods", None)] + ([("patch", "", "pods", "resize")] if plan.acts else [])
    for verb, group, resource, subresource in needed:
        attributes = kubernetes.V1ResourceAttributes(
            verb=verb, group=group, resource=resource, subresource=subresource, namespace=namespace
        )
        review = kubernetes.V1SelfSubjectAccessReview(
            spec=kubernetes.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
        )
        api = kubernetes.AuthorizationV1Api(connection)
        if not api.create_self_subject_access_review(review, _request_timeout=PROBE_SECONDS).status.allowed:
            name = f"{resource}/{subresource}" if subresource else f"{resource}.{group}"
            return f"the service account may not {verb} {name}"
    return None


def _number(major: str, minor: str) -> tuple[int, int]:
    """Return a version of Kubernetes as numbers. Some clouds add "+" to the minor version."""
    return int(major), int(minor.rstrip("+"))
