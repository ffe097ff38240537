"""KubernetesPodOperator that asks how much it needs, and the mixin for subclasses of your own.

class SizedEksPodOperator(SizerMixin, EksPodOperator): ...
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client.exceptions import ApiException

from airflow_provider_loadaware import features as feature_rules
from airflow_provider_loadaware import links, measuring, watch
from airflow_provider_loadaware import pod as pods
from airflow_provider_loadaware.creation import REFUSED, Creation, show_pod
from airflow_provider_loadaware.peak import PeakSource
from airflow_provider_loadaware.sizing import Options, Sizing, fail_open


class SizerMixin:
    """Sizes the base container of every try, and reports how it ended. Stands before the operator's class.

    :param features: what is known of a try before launch: a dict (templated), a callable of the context, or
        Jinja that renders to a dict. Declared params by default.
    :param feature_keys: globs of names in dag_run.conf that may be sent too.
    :param min_memory: least to be granted, such as "512Mi".
    :param max_memory: most to be granted, such as "384Gi"; also told to the server.
    :param peak_source: where the measured peak comes from: "termination-message" (JSON, the default), a callable
        of (pod, context), or "none".
    :param measure: "wrapper" has the program measured by loadaware-peak, where `cmds` says what it is; None does not.
    :param measure_image: an image that holds loadaware-peak.
    :param size_cpu: whether the CPU request is granted too. A CPU limit is never set or changed.
    :param loadaware_conn_id: the connection; `loadaware_default`.
    :param loadaware_namespace: tells Airflow deployments apart.
    :param sizing: False leaves this task alone.
    """

    template_fields: Sequence[str] = ("features",)
    operator_extra_links: Sequence[Any] = (links.ReceiptLink(),)

    def __init__(
        self,
        *,
        features: feature_rules.Source = None,
        feature_keys: Sequence[str] = (),
        min_memory: str | int | None = None,
        max_memory: str | int | None = None,
        peak_source: PeakSource = None,
        measure: Literal["wrapper"] | None = None,
        measure_image: str = "loadaware-peak",
        size_cpu: bool = True,
        loadaware_conn_id: str | None = None,
        loadaware_namespace: str | None = None,
        sizing: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Airflow calls a callable that stands in a templated field, and with other arguments than ours.
        self.features = None if callable(features) else features
        self._features_of = features if callable(features) else None
        self.feature_keys = feature_keys
        self.min_memory = min_memory
        self.max_memory = max_memory
        self.peak_source = peak_source
        if measure not in (None, "wrapper"):
            raise ValueError(f'measure is "wrapper" or None, not {measure!r}')
        self.measure = measure
        self.measure_image = measure_image
        self._unmeasure: Callable[[], None] | None = None
        self.size_cpu = size_cpu
        self.loadaware_conn_id = loadaware_conn_id
        self.loadaware_namespace = loadaware_namespace
        self.sizing = sizing
        self.loadaware_receipt_url: str | None = None
        # Rendering replaces the templates, and with them the knowledge which values were one.
        self._jinja_names = feature_rules.jinja_names(features)
        self._creation: Creation | None = None
        # Older providers do not give it to `cleanup`.
        self._try_context: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if SizerMixin in cls.__bases__:
            # The operator states its own fields and links, and both are wanted.
            operator = next((b for b in cls.__mro__[1:] if not issubclass(b, SizerMixin)), object)
            for name in ("template_fields", "operator_extra_links"):
                if name not in cls.__dict__:
                    setattr(cls, name, (*getattr(SizerMixin, name), *getattr(operator, name, ())))
        if cls.__init__ is SizerMixin.__init__:
            cls.__init__ = _own_init(cls)  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)

    def loadaware_sizing(self, context: Mapping[str, Any]) -> Sizing:
        """The sizing of the try that `context` belongs to."""
        options = Options(
            features=self._features_of or self.features,
            jinja_names=self._jinja_names,
            feature_keys=tuple(self.feature_keys),
            min_memory=self.min_memory,
            max_memory=self.max_memory,
            peak_source=self.peak_source,
            size_cpu=self.size_cpu,
            conn_id=self.loadaware_conn_id,
            namespace=self.loadaware_namespace,
        )
        return Sizing(options, context, self.log)  # type: ignore[attr-defined]

    # ---- launch ----

    def build_pod_request_obj(self, context: Any = None, **kwargs: Any) -> Any:
        """The pod, sized. Here and not earlier: once for each try, never on resume, after pod_mutation_hook."""
        request = super().build_pod_request_obj(context, **kwargs)  # type: ignore[misc]
        if context is None or kwargs.get("dry_run") or not self.sizing:
            return request
        self._try_context = context
        with fail_open(self.log, "sizing"):  # type: ignore[attr-defined]
            self._creation = Creation(self, self.loadaware_sizing(context), request)
        self._unmeasure = None
        if self.measure:
            with fail_open(self.log, "measuring"):  # type: ignore[attr-defined]
                base = pods.base_container(request, self.base_container_name)  # type: ignore[attr-defined]
                self._unmeasure = measuring.wrap(request, base, self.measure_image)
        return request

    def get_or_create_pod(self, pod_request_obj: Any, context: Any) -> Any:
        """The created pod, sized anew if an ended one is found, and as the DAG asks for it if that is refused."""
        try:
            return self._create(pod_request_obj, context)
        except ApiException as error:
            if self._unmeasure is None or error.status not in REFUSED:
                raise
            self.log.warning("loadaware: the cluster refused the pod (%s); trying without measuring", error.status)  # type: ignore[attr-defined]
            self._unmeasure()
            return self._create(pod_request_obj, context)

    def _create(self, pod_request_obj: Any, context: Any) -> Any:
        create = super().get_or_create_pod  # type: ignore[misc]
        if self._creation is None:
            return create(pod_request_obj=pod_request_obj, context=context)
        return self._creation.by(create, pod_request_obj, context)

    # ---- finish ----

    def cleanup(self, pod: Any, remote_pod: Any, *args: Any, **kwargs: Any) -> Any:
        """Reports before the pod is deleted. Called on success and on failure."""
        self._finish(self._try_context, remote_pod, sys.exc_info()[1])
        return super().cleanup(pod, remote_pod, *args, **kwargs)  # type: ignore[misc]

    def trigger_reentry(self, context: Any, event: dict[str, Any]) -> Any:
        """Resumes a deferred try; one whose pod is gone never reaches `cleanup`."""
        self._try_context = context
        try:
            result = super().trigger_reentry(context, event)  # type: ignore[misc]
        except Exception as error:
            self._finish(context, getattr(self, "pod", None), error, gone=True)
            raise
        self._finish(context, None, None, gone=True, succeeded=event.get("status") == "success")
        return result

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
            end = watch.end_of(self, pod, error)
            end.launched = end.launched or gone
            end.succeeded = succeeded
            self.loadaware_sizing(context).finish(end)
            show_pod(self, end.pod, context)


def _own_init(cls: Any) -> Callable[..., None]:
    """A constructor of `cls` with the mixin's arguments.

    Airflow wraps only constructors that the operator's class has itself: default_args and the names that a
    mapped task may give are read from there.
    """

    @functools.wraps(SizerMixin.__init__)
    def init(self: Any, **kwargs: Any) -> None:
        super(cls, self).__init__(**kwargs)

    return init


class SizedKubernetesPodOperator(SizerMixin, KubernetesPodOperator):
    """KubernetesPodOperator, with the arguments of SizerMixin. All of them are optional."""
