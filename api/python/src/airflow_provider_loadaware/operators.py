"""SizedKubernetesPodOperator, and the mixin that sizes other subclasses of KubernetesPodOperator.

class SizedEksPodOperator(SizerMixin, EksPodOperator): ...
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.cncf.kubernetes.triggers.pod import KubernetesPodTrigger
from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import features as feature_rules
from airflow_provider_loadaware import links, pod_end, resizer, settings, wrapper
from airflow_provider_loadaware import plan as plans
from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.creation import REJECTED, Creation, show_pod
from airflow_provider_loadaware.peak import PeakSource
from airflow_provider_loadaware.sizing import Options, Sizing, fail_open
from airflow_provider_loadaware.triggers import EXECUTION, NEEDS_WORKER, ResizingPodTrigger


class SizerMixin:
    """Sizes the base container of every try and reports its outcome. List it before the operator's class.

    :param features: inputs that are known before launch: a dict (templated), a callable of the context, or
        Jinja that renders to a dict. The default is the declared params.
    :param feature_keys: globs of names in dag_run.conf that are sent besides the declared params, if `features` is
        not set.
    :param min_memory: lower bound of the grant, such as "512Mi".
    :param max_memory: upper bound of the grant, such as "384Gi"; the server receives it too.
    :param peak_source: source of the measured peak: "termination-message" (JSON, the default), a callable of
        (pod, context), or "none".
    :param measure: "wrapper" measures the program with loadaware-peak and requires `cmds`; None adds nothing.
    :param measure_image: an image that contains loadaware-peak.
    :param size_cpu: whether to set the CPU request too. A CPU limit is never set or changed.
    :param size_timeout: whether to set execution_timeout for each try; the DAG's own execution_timeout stays the upper
        bound.
    :param loadaware_conn_id: the connection; the default is the setting conn_id, or else `loadaware_default`.
    :param loadaware_namespace: distinguishes Airflow deployments.
    :param sizing: False turns sizing, measuring and reporting off for this task.
    """

    template_fields: Sequence[str] = ("features",)
    operator_extra_links: Sequence[Any] = (links.ReceiptLink(),)

    def __init__(
        self,
        *,
        features: feature_rules.Source = None,
        feature_keys: Sequence[str] | None = (),
        min_memory: str | int | None = None,
        max_memory: str | int | None = None,
        peak_source: PeakSource = None,
        measure: Literal["wrapper"] | None = None,
        measure_image: str = "loadaware-peak",
        size_cpu: bool = True,
        size_timeout: bool = False,
        loadaware_conn_id: str | None = None,
        loadaware_namespace: str | None = None,
        sizing: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Airflow itself would call a callable in a templated field, and with other arguments.
        self.features = None if callable(features) else features
        self._features_of = features if callable(features) else None
        self.feature_keys = feature_keys
        self.min_memory = min_memory
        self.max_memory = max_memory
        self.peak_source = peak_source
        if measure not in (None, "wrapper"):
            raise ValueError(f'measure: unknown value {measure!r}; use "wrapper" or None')
        self.measure = measure
        self.measure_image = measure_image
        self._remove_wrapper: Callable[[], None] | None = None
        self.size_cpu = size_cpu
        self.size_timeout = size_timeout
        self.loadaware_conn_id = loadaware_conn_id
        self.loadaware_namespace = loadaware_namespace
        self.sizing = sizing
        self.loadaware_receipt_url: str | None = None
        # Rendering replaces the templates, so remember here which values were templates.
        self._jinja_names = feature_rules.jinja_names(features)
        self._creation: Creation | None = None
        # Older versions of the cncf-kubernetes provider do not pass the context to `cleanup`.
        self._try_context: Any = None
        self.loadaware_execution: dict[str, Any] | None = None  # `executed_plan` of a deferred try, for its report
        self._has_static_grant = False  # whether this process returned its pod to the static grant, which ends the plan

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if SizerMixin in cls.__bases__:
            # Merge the fields and links of the mixin and of the operator.
            operator = next((b for b in cls.__mro__[1:] if not issubclass(b, SizerMixin)), object)
            for name in ("template_fields", "operator_extra_links"):
                if name not in cls.__dict__:
                    setattr(cls, name, (*getattr(SizerMixin, name), *getattr(operator, name, ())))
        if cls.__init__ is SizerMixin.__init__:
            cls.__init__ = _make_init(cls)  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)

    def loadaware_sizing(self, context: Mapping[str, Any]) -> Sizing:
        """Return the sizing of the try that `context` belongs to."""
        options = Options(
            features=self._features_of or self.features,
            jinja_names=self._jinja_names,
            # A text is one glob, not a sequence of globs with one character each.
            feature_keys=(keys,) if isinstance(keys := self.feature_keys or (), str) else tuple(keys),
            min_memory=self.min_memory,
            max_memory=self.max_memory,
            peak_source=self.peak_source,
            size_cpu=self.size_cpu,
            conn_id=self.loadaware_conn_id,
            namespace=self.loadaware_namespace,
        )
        return Sizing(options, context, self.log)  # type: ignore[attr-defined]

    # ---- launch ----

    def pre_execute(self, context: Any) -> None:
        """Set the execution timeout if `size_timeout` is set. Airflow calls this before it starts the timer."""
        super().pre_execute(context)  # type: ignore[misc]
        if not self.size_timeout or not self.sizing:
            return
        with fail_open(self.log, "sizing the timeout"):  # type: ignore[attr-defined]
            startup = timedelta(seconds=float(getattr(self, "startup_timeout_seconds", 0) or 0))
            chosen = self.loadaware_sizing(context).suggest_timeout(startup)
            if chosen is not None:
                self.execution_timeout = chosen

    def build_pod_request_obj(self, context: Any = None, **kwargs: Any) -> Any:
        """Return the pod, sized if this is no dry run and sizing is on. Airflow calls this for the start of a try.

        The sizing comes after pod_mutation_hook, which the method of the superclass calls.
        """
        request = super().build_pod_request_obj(context, **kwargs)  # type: ignore[misc]
        if context is None or kwargs.get("dry_run") or not self.sizing:
            return request
        self._try_context = context
        with fail_open(self.log, "sizing"):  # type: ignore[attr-defined]
            self._creation = Creation(self, self.loadaware_sizing(context), request)
        self._remove_wrapper = None
        if self.measure and not settings.is_disabled():
            with fail_open(self.log, "measuring"):  # type: ignore[attr-defined]
                base = pods.base_container(request, self.base_container_name)  # type: ignore[attr-defined]
                self._remove_wrapper = wrapper.wrap(request, base, self.measure_image)
        return request

    def get_or_create_pod(self, pod_request_obj: Any, context: Any) -> Any:
        """Create the pod; if the cluster rejects it, try the static request, and then a pod without the wrapper."""
        try:
            return self._create(pod_request_obj, context)
        except ApiException as error:
            if self._remove_wrapper is None or error.status not in REJECTED:
                raise
            self.log.warning("loadaware: the cluster rejected the pod (%s); omitting the measurement", error.status)  # type: ignore[attr-defined]
            self._remove_wrapper()
            return self._create(pod_request_obj, context)

    def _create(self, pod_request_obj: Any, context: Any) -> Any:
        create = super().get_or_create_pod  # type: ignore[misc]
        if self._creation is None:
            return create(pod_request_obj=pod_request_obj, context=context)
        return self._creation.create_pod(create, pod_request_obj, context)

    # ---- finish ----

    def cleanup(self, pod: Any, remote_pod: Any, *args: Any, **kwargs: Any) -> Any:
        """Report before Airflow deletes the pod. Airflow calls this on success and on failure.

        There is no `remote_pod` if the pod was gone, for example preempted, before Airflow first read it.
        """
        self._finish(self._try_context, remote_pod or getattr(self, "pod", None), sys.exc_info()[1])
        return super().cleanup(pod, remote_pod, *args, **kwargs)  # type: ignore[misc]

    def trigger_reentry(self, context: Any, event: dict[str, Any]) -> Any:
        """Resume a deferred try. If its pod is gone, Airflow never calls `cleanup`."""
        self._try_context = context
        self.loadaware_execution = event.get(EXECUTION)
        if event.get("status") == NEEDS_WORKER:
            return self.loadaware_resume_static(context, event)
        try:
            result = super().trigger_reentry(context, event)  # type: ignore[misc]
        except Exception as error:
            self._finish(context, getattr(self, "pod", None), error, gone=True)
            raise
        self._finish(context, None, None, gone=True, succeeded=event.get("status") == "success")
        return result

    # ---- plan of a deferred try ----

    def defer(self, *, trigger: Any, **kwargs: Any) -> None:
        """Defer with a trigger that executes the plan of the pod, if it has one."""
        try:
            trigger = self._resizing_trigger(trigger)
        except Exception as error:  # noqa: BLE001 - without the trigger, nothing would resize the pod
            with fail_open(self.log, "resizing"):  # type: ignore[attr-defined]
                self._return_to_static(f"{type(error).__name__}: {error}")
        super().defer(trigger=trigger, **kwargs)  # type: ignore[misc]

    def _resizing_trigger(self, trigger: Any) -> Any:
        plan = plans.of_pod(self.pod) if self.sizing and self.pod is not None else None
        if plan is None or type(trigger) is not KubernetesPodTrigger or self._has_static_grant:
            return trigger
        sizing = self.loadaware_sizing(self._try_context)
        return ResizingPodTrigger.of(trigger, plan, sizing.try_key().body(), sizing.conn_id)

    def loadaware_resume_static(self, context: Any, event: dict[str, Any]) -> Any:
        """Set the static grant, because the trigger could not set it, and defer again."""
        try:
            self.pod = self.hook.get_pod(event["name"], event["namespace"])  # type: ignore[attr-defined]
        except ApiException:
            return self.trigger_reentry(context, {**event, "status": "failed"})
        with fail_open(self.log, "resizing"):  # type: ignore[attr-defined]
            self._return_to_static(str(event.get("message")))
        # The next trigger repeats trigger_kwargs in its event.
        more = getattr(self, "trigger_kwargs", None)
        self.trigger_kwargs = {**(more or {}), EXECUTION: self.loadaware_execution}
        accepts_context = "context" in inspect.signature(self.invoke_defer_method).parameters  # type: ignore[attr-defined]
        return self.invoke_defer_method(**({"context": context} if accepts_context else {}))  # type: ignore[attr-defined]

    def _return_to_static(self, reason: str) -> None:
        plan = plans.of_pod(self.pod)
        if plan is not None:
            resizing = resizer.of_operator(self, self.pod, plan, self.loadaware_sizing(self._try_context))
            resizing.return_to_static(reason)
            self._has_static_grant = True
            self.loadaware_execution = self.loadaware_execution or resizing.execution.to_dict()

    def _finish(
        self,
        context: Any,
        pod: Any,
        error: BaseException | None,
        *,
        gone: bool = False,
        succeeded: bool = False,
    ) -> None:
        if context is None or not self.sizing:
            return
        with fail_open(self.log, "reporting"):  # type: ignore[attr-defined]
            end = pod_end.end_of(self, pod, error)
            end.launched = end.launched or gone
            end.succeeded = succeeded
            self.loadaware_sizing(context).finish(end)
            show_pod(self, end.pod, context)


def _make_init(cls: Any) -> Callable[..., None]:
    """Return a constructor for an operator class that defines none.

    Airflow wraps only a constructor that the operator class defines itself. Airflow reads from its signature which
    default_args apply, and the argument names of a mapped task.
    """

    @functools.wraps(SizerMixin.__init__)
    def init(self: Any, **kwargs: Any) -> None:
        super(cls, self).__init__(**kwargs)

    return init


class SizedKubernetesPodOperator(SizerMixin, KubernetesPodOperator):
    """KubernetesPodOperator with the arguments of SizerMixin. All of them are optional."""
