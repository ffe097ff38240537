"""Creation of a sized pod, for operators with and without SizerMixin.

    size ──▶ plan ──▶ create ──┬── finds an ended pod ──▶ report it, size again after an OOM, delete it, create
                               └── 403 or 422 ──────────▶ restore the static request, create once more

After a worker crash, the ended pod of an earlier try, or of the first execution of this try, may remain. Airflow
deletes that pod just before it creates the new one, so this is the last moment to read the outcome of the old pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import links, pod_end, rendered, resize_support, resizer, settings
from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.grant import Kill
from airflow_provider_loadaware.sizing import Launch, Options, Sizing, fail_open

REJECTED = (403, 422)  # status codes of a rejection by a quota, an admission webhook or a LimitRange


class Creation:
    """Sizes and creates the pod of one try. `request` is the pod that Airflow asks Kubernetes to create."""

    def __init__(self, operator: Any, sizing: Sizing, request: Any) -> None:
        self._operator = operator
        self._sizing = sizing
        self._request = request
        self._launch = self._size(None)

    def create_pod(self, create: Callable[..., Any], request: Any, context: Any) -> Any:
        """Return the pod that `create`, Airflow's get_or_create_pod, creates or finds."""
        pod = self._create_pod(create, request, context)
        if not self._operator.deferrable:  # the trigger of a deferred task resizes its pod
            with fail_open(self._operator.log, "resizing"):
                resizer.start(self._operator, pod, self._sizing)
        return pod

    def _create_pod(self, create: Callable[..., Any], request: Any, context: Any) -> Any:
        with self._report_ended_pods():
            try:
                return create(pod_request_obj=request, context=context)
            except ApiException as error:
                if not self._launch.granted or error.status not in REJECTED:
                    raise
                self._operator.log.warning(
                    "loadaware: the cluster rejected the granted size (%s); using the static request", error.status
                )
                self._launch.undo()
                show_resources(self._operator, self._launch.resources, context)
            return create(pod_request_obj=request, context=context)

    def _size(self, kill: Kill | None) -> Launch:
        operator, context = self._operator, self._sizing.context
        launch = self._sizing.launch(self._request, operator.base_container_name, kill)
        with fail_open(operator.log, "planning"):
            self._apply_plan(launch)
        if launch.granted:
            show_resources(operator, launch.resources, context)
        if launch.receipt_url is not None:
            with fail_open(operator.log, "showing the receipt"):
                operator.loadaware_receipt_url = launch.receipt_url
                context["ti"].xcom_push(key=links.RECEIPT_XCOM, value=launch.receipt_url)
        return launch

    def _apply_plan(self, launch: Launch) -> None:
        plan, operator = launch.plan, self._operator
        if plan is None:
            return
        problem = resize_support.problem(operator, self._request, plan)
        if problem is not None:
            operator.log.warning("loadaware: plan: keeping the static grant: %s", problem)
            return
        if not operator.deferrable and not settings.synchronous_limits():
            # If the worker is lost, nothing resizes the pod until the next try. Therefore the limit stays static.
            plan = replace(plan, keeps_limit=True)
        pods.start_with(self._request, operator.base_container_name, plan)
        operator.log.info("loadaware: plan (%s): %s", plan.mode, plan.summary)

    @contextmanager
    def _report_ended_pods(self) -> Iterator[None]:
        """Report the ended pods that Airflow deletes inside the with block, in which it creates a pod."""
        operator = self._operator
        delete = operator.process_pod_deletion

        def report_and_delete(pod: Any, *args: Any, **kwargs: Any) -> Any:
            with fail_open(operator.log, "reporting an ended pod"):
                self._handle_ended_pod(pod)
            deleted = delete(pod, *args, **kwargs)
            if not deleted:  # on_finish_action keeps the pod: Airflow uses it for this try, whose end is now reported
                self._sizing.mark_reported()
            return deleted

        operator.process_pod_deletion = report_and_delete
        try:
            yield
        finally:
            del operator.process_pod_deletion

    def _handle_ended_pod(self, pod: Any) -> None:
        kill = self._sizing.report_leftover_pod(pod_end.end_of(self._operator, pod, None), pods.try_number_of(pod))
        if kill is not None:
            self._launch.before.restore()
            self._launch = self._size(kill)


def size(operator: Any, request: Any, context: Any) -> None:
    """Size the pod of an operator that does not use SizerMixin."""
    with fail_open(operator.log, "sizing"):
        creation = Creation(operator, Sizing(Options(), context, operator.log), request)
        # Airflow calls no callback if it finds an ended pod or if the cluster rejects the pod: wrap get_or_create_pod.
        create = operator.get_or_create_pod
        operator.get_or_create_pod = lambda pod_request_obj, context: creation.create_pod(
            create, pod_request_obj, context
        )


def show_pod(operator: Any, pod: Any | None, context: Any) -> None:
    """Show a pod's actual resources in the rendered fields, because a resumed try renders its static request again."""
    if pod is not None:
        show_resources(operator, pods.base_container(pod, operator.base_container_name).resources, context)


def show_resources(operator: Any, resources: Any, context: Any) -> None:
    """Show resources in the rendered fields."""
    with fail_open(operator.log, "showing the size"):
        rendered.publish(operator, resources, context)
