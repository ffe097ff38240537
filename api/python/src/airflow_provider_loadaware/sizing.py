"""Sizing of one try of a Kubernetes task, from launch to report. It fails open.

    launch: pod ──▶ static request ──▶ /predict ──▶ bounds ──▶ pod
    finish: pod ──▶ outcome, peak ──▶ /observe ──(OOM)──▶ /retry-lift

An error in launch, suggest_timeout or finish becomes a warning in the task's log, and the task runs on.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from airflow_provider_loadaware import (
    features,
    grant,
    metadata,
    peak,
    pod,
    report,
    resend,
    run_times,
    settings,
    structure,
)
from airflow_provider_loadaware.grant import Bounds, Grant, Kill, Static
from airflow_provider_loadaware.hooks import LoadawareHook
from airflow_provider_loadaware.outcome import Outcome
from airflow_provider_loadaware.plan import InvalidPlanError, Plan
from airflow_provider_loadaware.quantity import display_bytes, parse_bytes
from airflow_provider_loadaware.service import Deadline, InvalidRequestError, NotAnsweredError, RejectedError, Service
from airflow_provider_loadaware.spool import Kills, Spool
from airflow_provider_loadaware.tries import Try
from loadaware_client.models.prediction import Prediction

MAX_OMITTED = 20  # largest number of names of features in a log line
_logged: set[tuple[str, str]] = set()  # a try and a message of `Sizing._log_once`


@dataclass(frozen=True)
class Options:
    """The DAG author's options. Without `max_memory`, `conn_id` or `namespace`, the setting of that name applies."""

    features: features.Source = None
    jinja_names: frozenset[str] = frozenset()
    feature_keys: tuple[str, ...] = ()
    min_memory: str | int | None = None
    max_memory: str | int | None = None
    peak_source: peak.PeakSource = None
    size_cpu: bool = True
    conn_id: str | None = None
    namespace: str | None = None

    def bounds(self, warn: Callable[[str], None]) -> Bounds:
        """Return the local bounds in bytes. Calls `warn` for each bound that is not a quantity, and omits it."""

        def read(name: str, quantity: Any) -> int | None:
            try:
                return parse_bytes(quantity) if quantity else None
            except ValueError as error:
                warn(f"{name}: {error}; continuing without this bound")
                return None

        maximum = read("max_memory", self.max_memory)
        if maximum is None:
            maximum = read("max_memory in the section [loadaware]", settings.get("max_memory"))
        return Bounds(read("min_memory", self.min_memory), maximum)


@dataclass
class Launch:
    """The result of sizing a pod. Without a grant, the static request stays in force."""

    before: pod.Snapshot
    static: Static
    granted: bool = False
    prediction_id: str | None = None
    receipt_url: str | None = None
    plan: Plan | None = None  # of the grant, not applied yet

    @property
    def resources(self) -> Any:
        """The current resources of the base container."""
        return self.before.container.resources

    def undo(self) -> None:
        """Restore the static request, and set the environment variables with the memory limit to it."""
        self.before.restore()
        pod.set_memory_env(self.before.container, self.static.enforced)
        self.granted = False  # if Kubernetes rejects the pod again, it rejects the static request


@dataclass
class Sizing:
    """Sizes and reports one try of one task."""

    options: Options
    context: Mapping[str, Any]
    log: logging.Logger
    _hook: LoadawareHook | None = field(default=None, init=False)

    @property
    def conn_id(self) -> str:
        """The id of the connection of this task."""
        return self.options.conn_id or settings.get("conn_id", LoadawareHook.default_conn_name)

    @property
    def hook(self) -> LoadawareHook:
        """The connection of this task."""
        if self._hook is None:
            self._hook = LoadawareHook(self.conn_id)
        return self._hook

    def try_key(self) -> Try:
        """Return the try's key, in the namespace of the task, the settings or the connection."""
        chosen = self.options.namespace or settings.get("namespace")
        return Try.of(self.context, str(chosen or self.hook.extras.get("namespace") or "default"))

    @functools.cached_property
    def bounds(self) -> Bounds:
        """The local bounds of the grant in bytes, as far as they can be read."""
        return self.options.bounds(lambda problem: self._log_once(logging.WARNING, f"loadaware: {problem}"))

    # ---- launch ----

    def launch(self, request: Any, base: str, kill: Kill | None = None) -> Launch:
        """Size a pod before its creation. `kill` is an OOM kill of this run, if the caller knows one."""
        container = pod.base_container(request, base)
        launch = Launch(pod.Snapshot.of(request, base), pod.static_of(container))
        with fail_open(self.log, "sizing"):
            try:
                if not settings.is_disabled():
                    self._size(request, base, launch, kill)
            except Exception:
                launch.before.restore()
                raise
            finally:
                # The program may rely on the environment variables with the memory limit, also with a static request.
                if not launch.granted:
                    pod.set_memory_env(container, launch.static.enforced)
        return launch

    def _size(self, request: Any, base: str, launch: Launch, kill: Kill | None) -> None:
        bounds = self.bounds
        answer, problem = self._predict(launch.static, bounds, request, base)
        if kill is None:
            with contextlib.suppress(Exception):
                kill = Kills(settings.state_folder()).find(self.try_key(), self.context)
        granted: Grant | None = None
        if answer is not None:
            try:
                granted = grant.from_prediction(answer, bounds, kill, launch.static)
            except grant.InvalidAnswerError as error:
                answer, problem = None, f"invalid answer: {error}"
        if answer is None and kill is not None:
            granted = grant.after_kill(kill, bounds, launch.static)
        if answer is not None:
            launch.prediction_id = answer.prediction_id
            with contextlib.suppress(Exception):
                launch.receipt_url = self.hook.receipt_url(answer.prediction_id)
        if granted is not None:
            if not self.options.size_cpu:
                granted = grant.without_cpu(granted)
            pod.apply(request, base, granted, launch.static)
            launch.granted = True
            if answer is not None and kill is None:  # after a kill, a try has its whole grant from the start
                launch.plan = self._plan(answer, granted, launch.static, bounds)
        else:
            pod.annotate(request, launch.static, launch.prediction_id)
        self._log_launch(launch, answer, granted, problem)
        if answer is not None:
            with fail_open(self.log, "reading the run time"):
                self._log_run_time(answer)
            with fail_open(self.log, "sending the structure of the DAG"):
                self._send_structure()

    def _predict(self, static: Static, bounds: Bounds, request: Any, base: str) -> tuple[Prediction | None, str | None]:
        try:
            service, key, deadline = self.hook.get_conn(), self.try_key(), Deadline()
            if key.try_number > 1:
                # Send pending reports first: the server must know a kill that caused this retry.
                with contextlib.suppress(NotAnsweredError, RejectedError):
                    resend.send_pending(service, Spool(settings.state_folder()), deadline, key.run_key)
            body = {**key.body(), "features": self._features(), "requested": static.to_request()}
            body |= self._metadata(request, base)
            if (limit := self._current_timeout()) is not None:
                body["execution_timeout_seconds"] = limit.total_seconds()
            if bounds.maximum:
                body["max_memory_bytes"] = bounds.maximum
            return service.predict(body, deadline), None
        except Exception as error:  # noqa: BLE001 - the task runs despite any error
            return None, f"{type(error).__name__}: {error}"

    def _plan(self, answer: Prediction, granted: Grant, static: Static, bounds: Bounds) -> Plan | None:
        try:
            return Plan.of_prediction(answer, granted, static, bounds.maximum)
        except InvalidPlanError as error:
            self.log.warning("loadaware: plan: invalid (%s); keeping the static grant", error)
            return None

    def _features(self) -> dict[str, features.Scalar] | None:
        omitted: dict[str, str] = {}
        try:
            if self.options.features is None:
                allowed = (*self.options.feature_keys, *settings.names("feature_keys"))
                found = features.of_context(self.context, allowed, omitted)
            else:
                found = features.of_source(self.options.features, self.context, self.options.jinja_names, omitted)
        except Exception as error:  # noqa: BLE001 - a DAG author's function may raise anything
            self.log.warning("loadaware: reading the features failed (%s); predicting without features", error)
            return None
        if omitted:
            reasons = [f"{name} ({reason})" for name, reason in list(omitted.items())[:MAX_OMITTED]]
            more = f" and {len(omitted) - MAX_OMITTED} more" if len(omitted) > MAX_OMITTED else ""
            self._log_once(logging.INFO, f"loadaware: features that are not sent: {', '.join(reasons)}{more}")
        return found or None

    def _log_once(self, level: int, message: str) -> None:
        """Log a message once for this try in this process: a launch and a report read the same options."""
        key = (Try.of(self.context, "").key, message)
        if key not in _logged:
            _logged.add(key)
            self.log.log(level, "%s", message)

    def _metadata(self, known: Any | None, base: str) -> dict[str, Any]:
        try:
            if settings.is_off(settings.get("send_metadata")) or settings.is_off(self.hook.extras.get("send_metadata")):
                return {}
            found = metadata.of_try(self.context, known, base)
            return {"metadata": found} if found else {}
        except Exception as error:  # noqa: BLE001 - a setting or a connection may be unreadable
            self.log.warning("loadaware: reading the metadata failed (%s); continuing without it", error)
            return {}

    def _log_launch(
        self, launch: Launch, answer: Prediction | None, granted: Grant | None, problem: str | None
    ) -> None:
        enforced = launch.static.enforced
        static = f"the static request of {display_bytes(enforced)}" if enforced else "no static request"
        if answer is None and granted is None:
            self.log.warning("loadaware: no prediction (%s); continuing with %s", problem, static)
        elif granted is None and answer is not None:
            self.log.info("loadaware: continuing with %s: %s", static, answer.reason)
        elif granted is not None:
            write = self.log.info if answer is not None else self.log.warning
            amount = display_bytes(granted.memory_limit)
            why = granted.reason.removeprefix(f"{amount}: ") + (f" ({problem})" if answer is None else "")
            receipt = f" [{launch.receipt_url}]" if launch.receipt_url else ""
            write("loadaware: %s → granted %s: %s%s", static, amount, why, receipt)

    # ---- run time ----

    def suggest_timeout(self, startup: timedelta) -> timedelta | None:
        """Return the execution timeout to set for this try, or None to keep the DAG's own one. Logs the choice."""
        if settings.is_disabled():
            return None
        with fail_open(self.log, "sizing the timeout"):
            current = self._current_timeout()
            risk = float(settings.get("timeout_risk") or run_times.DEFAULT_RISK)
            advice = run_times.advice_for(self.hook.get_conn(), self.try_key(), self._features(), risk, current)
            chosen = run_times.bound_timeout(advice, current, startup)
            self.log.info(
                "loadaware: execution_timeout %s → %s: a healthy run takes longer than %s with probability %g",
                current if current is not None else "none",
                chosen,
                advice.suggested,
                risk,
            )
            return chosen
        return None

    def _current_timeout(self) -> timedelta | None:
        limit = getattr(self.context.get("task"), "execution_timeout", None)
        return limit if isinstance(limit, timedelta) and limit > timedelta() else None

    def _log_run_time(self, answer: Prediction) -> None:
        expected = answer.duration
        median, p99 = (getattr(expected, name, None) for name in ("median_seconds", "p99_seconds"))
        if not isinstance(median, (int, float)) or not isinstance(p99, (int, float)):
            return
        stopped, current = getattr(expected, "timeout_probability", None), self._current_timeout()
        advice = ""
        if current is not None and isinstance(stopped, (int, float)):
            advice = f"; execution_timeout {current} stops {100 * stopped:.2g} % of healthy runs"
        self.log.info(
            "loadaware: median run time %s, 99 %% below %s%s",
            timedelta(seconds=round(median)),
            timedelta(seconds=round(p99)),
            advice,
        )

    def _send_structure(self) -> None:
        dag = self.context.get("dag")
        if dag is not None:
            structure.send_changed(self.hook.get_conn(), self.try_key().namespace, dag, settings.state_folder())

    # ---- finish ----

    def finish(self, end: report.End) -> None:
        """Report an ended try, and request the next amount after an OOM. Acts once per try and process."""
        if settings.is_disabled():
            return
        with fail_open(self.log, "reporting"):
            key = self.try_key()
            if report.mark_reported(key):
                self._report(key, end)

    def report_leftover_pod(self, end: report.End, try_number: int | None) -> Kill | None:
        """Report the leftover pod of an interrupted execution.

        Returns the kill if the pod had an OOM at a known allocation. The report names the try that launched the pod:
        this one, if Airflow executes it again, or an earlier one.
        """
        if settings.is_disabled():
            return None
        key = self.try_key()
        return self._report(replace(key, try_number=try_number or key.try_number), end)

    def mark_reported(self) -> None:
        """Mark this try as reported."""
        report.mark_reported(self.try_key())

    def _report(self, key: Try, end: report.End) -> Kill | None:
        measured = peak.Peak()
        with fail_open(self.log, "reading the peak"):
            measured = end.measure(
                self.options.peak_source, self.context, lambda problem: self.log.warning("loadaware: %s", problem)
            )
        outcome = end.outcome(measured)
        body = {**key.body(), **end.body(outcome, measured), **self._metadata(end.pod or end.last, end.base)}
        if "prediction_id" not in body:
            body["features"] = self._features()  # the server has no features from a prediction
        deadline, spool = Deadline(), Spool(settings.state_folder())
        service: Service | None = None
        recorded = False
        try:
            service = self.hook.get_conn()
            answer = service.observe(body, deadline)
            recorded = True
            for warning in answer.warnings or ():
                self.log.warning("loadaware: report field %s: %s", warning.field, warning.detail)
        except RejectedError as error:
            self._spool_report(spool, key, body, error, retryable=error.retryable)
        except InvalidRequestError as error:
            self._spool_report(spool, key, body, error, retryable=False)
        except Exception as error:  # noqa: BLE001 - also a missing connection
            self._spool_report(spool, key, body, error, retryable=True)
            service = None
        kill = None
        if outcome.lacks_memory and end.allocated_bytes:
            lift = self._lift(service, key, outcome, end, deadline) if service else None
            kill = Kill(
                end.allocated_bytes,
                key.try_number,
                lift.next_bytes if lift else None,
                unreported=not recorded and lift is None,  # a request for a lift also reports the kill
                static_bytes=end.static_bytes,
            )
            with fail_open(self.log, "storing the kill"):
                Kills(settings.state_folder()).record(key, kill, self.context)
            self.log.warning(
                "loadaware: %s at %s (peak %s %s); %s",
                "OOMKilled" if outcome is Outcome.OOM_KILLED else "the program ran out of memory",
                display_bytes(end.allocated_bytes),
                "≥" if outcome is Outcome.OOM_KILLED else "near",
                display_bytes(max(end.allocated_bytes, measured.memory_bytes or 0)),
                lift.message if lift else "the next try gets more",
            )
        else:
            used = display_bytes(measured.memory_bytes) if measured.memory_bytes else "not measured"
            allocated = display_bytes(end.allocated_bytes) if end.allocated_bytes else "an unknown amount"
            self.log.info("loadaware: ended as %s: peak %s, allocated %s", outcome.value, used, allocated)
        if service is not None:
            with contextlib.suppress(NotAnsweredError, RejectedError):
                resend.send_pending(service, spool, deadline)
        return kill

    def _spool_report(self, spool: Spool, key: Try, body: dict[str, Any], error: Exception, *, retryable: bool) -> None:
        stored = retryable and spool.add(key, body)
        self.log.warning(
            "loadaware: sending the report failed (%s); it %s",
            error,
            "is sent later" if stored else "is dropped",
        )

    def _lift(
        self, service: Service, key: Try, outcome: Outcome, end: report.End, deadline: Deadline
    ) -> grant.LiftAnswer | None:
        request: dict[str, Any] = {
            **key.body(),
            "reason": outcome.value,
            "failed": {"memory_bytes": end.allocated_bytes},
            "requested": end.requested,
        }
        if self.bounds.maximum:
            request["max_memory_bytes"] = self.bounds.maximum
        try:
            return grant.LiftAnswer.of(service.lift(request, deadline), end.allocated_bytes or 0)
        except Exception as error:  # noqa: BLE001 - the kill must be stored whatever the answer is
            self.log.warning("loadaware: requesting the next amount failed (%s)", error)
            return None


@contextlib.contextmanager
def fail_open(log: logging.Logger, operation: str) -> Iterator[None]:
    """Turn any Exception into a warning. Airflow's deferrals and timeouts derive from BaseException and propagate."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the last handler before the task
        log.warning("loadaware: %s failed; continuing without it (%s: %s)", operation, type(error).__name__, error)
