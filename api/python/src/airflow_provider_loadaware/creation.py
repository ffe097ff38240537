"""The creation of a sized pod, for operators of our class and of any other.

    size ──▶ create ──┬── an ended pod is found ──▶ report it, size again if it was a kill, delete it, create
                      └── 403 or 422 ─────────────▶ the static request, create once more

Airflow leaves an ended pod behind when a worker dies, or when it executes a try a second time. It deletes such
a pod where it would create one, so that this is the last moment to learn how it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import links, rendered, watch
from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.grant import Kill
from airflow_provider_loadaware.sizing import Launch, Options, Sizing, fail_open

REFUSED = (403, 422)  # by a quota, an admission hook or a LimitRange


class Creation:
    """One pod of one try, from its sizing until it is there."""

    def __init__(self, operator: Any, sizing: Sizing, request: Any) -> None:
        self._operator = operator
        self._sizing = sizing
        self._request = request
        self._launch = self._sized(None)

    def by(self, create: Callable[..., Any], request: Any, context: Any) -> Any:
        """The pod that `create` makes or finds, which is Airflow's get_or_create_pod."""
        with self._ended_pods_are_told():
            try:
                return create(pod_request_obj=request, context=context)
            except ApiException as error:
                if not self._launch.granted or error.status not in REFUSED:
                    raise
                self._operator.log.warning(
                    "loadaware: the cluster refused the granted size (%s); trying the static one", error.status
                )
                self._launch.undo()
                show_resources(self._operator, self._launch.resources, context)
            return create(pod_request_obj=request, context=context)

    def _sized(self, kill: Kill | None) -> Launch:
        operator, context = self._operator, self._sizing.context
        launch = self._sizing.launch(self._request, operator.base_container_name, kill)
        if launch.granted:
            show_resources(operator, launch.resources, context)
        if launch.receipt_url is not None:
            with fail_open(operator.log, "showing the receipt"):
                operator.loadaware_receipt_url = launch.receipt_url
                context["ti"].xcom_push(key=links.RECEIPT_XCOM, value=launch.receipt_url)
        return launch

    @contextmanager
    def _ended_pods_are_told(self) -> Iterator[None]:
        """While a pod is created, Airflow deletes only those that it finds ended."""
        operator = self._operator
        delete = operator.process_pod_deletion

        def tell_and_delete(pod: Any, *args: Any, **kwargs: Any) -> Any:
            with fail_open(operator.log, "reporting a pod that was found"):
                self._found(pod)
            deleted = delete(pod, *args, **kwargs)
            if not deleted:  # on_finish_action keeps it, and Airflow takes its end for this try's own
                self._sizing.told()
            return deleted

        operator.process_pod_deletion = tell_and_delete
        try:
            yield
        finally:
            del operator.process_pod_deletion

    def _found(self, pod: Any) -> None:
        kill = self._sizing.found(watch.end_of(self._operator, pod, None), pods.try_number_of(pod))
        if kill is not None:
            self._launch.before.restore()
            self._launch = self._sized(kill)


def size(operator: Any, request: Any, context: Any) -> None:
    """Sizes a pod of an operator whose class is not ours."""
    with fail_open(operator.log, "sizing"):
        creation = Creation(operator, Sizing(Options(), context, operator.log), request)
        # Nobody is called back for a pod that was found or refused, so its creation is put behind ours.
        create = operator.get_or_create_pod
        operator.get_or_create_pod = lambda pod_request_obj, context: creation.by(create, pod_request_obj, context)


def show_pod(operator: Any, pod: Any | None, context: Any) -> None:
    """Puts what a pod really has into the rendered fields: a resumed try rendered its static request again."""
    if pod is not None:
        show_resources(operator, pods.base_container(pod, operator.base_container_name).resources, context)


def show_resources(operator: Any, resources: Any, context: Any) -> None:
    """Puts resources into the rendered fields, where people look."""
    with fail_open(operator.log, "showing the size"):
        rendered.publish(operator, resources, context)
