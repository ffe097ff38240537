"""One try of a Kubernetes task, from its launch to its report. Fails open, always.

    launch: pod ──▶ static request ──▶ /predict ──▶ bounds ──▶ pod          one line in the task's log
    finish: pod ──▶ outcome, peak ──▶ /observe ──(OOM)──▶ /retry-lift       one line in the task's log

No method raises: what goes wrong becomes one warning, and the static request stands.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_loadaware import features, grant, peak, pod, report, resend, settings
from airflow_provider_loadaware.grant import Bounds, Grant, Kill, Static
from airflow_provider_loadaware.hooks import LoadawareHook
from airflow_provider_loadaware.memory import Kills, Spool
from airflow_provider_loadaware.outcome import Outcome
from airflow_provider_loadaware.quantity import parse_bytes, say_bytes
from airflow_provider_loadaware.service import Deadline, NotAnsweredError, RefusedError, Service
from airflow_provider_loadaware.tries import Try
from loadaware_client.models.prediction import Prediction


@dataclass(frozen=True)
class Options:
    """What a DAG author may say; empty takes the settings' answer."""

    features: features.Source = None
    jinja_names: frozenset[str] = frozenset()
    feature_keys: tuple[str, ...] = ()
    min_memory: str | int | None = None
    max_memory: str | int | None = None
    peak_source: peak.PeakSource = None
    size_cpu: bool = True
    conn_id: str | None = None
    namespace: str | None = None

    def bounds(self) -> Bounds:
        """The local bounds in bytes. ValueError if one is not a quantity."""
        least = parse_bytes(self.min_memory) if self.min_memory else None
        most = self.max_memory or settings.get("max_memory")
        return Bounds(least, parse_bytes(most) if most else None)


@dataclass
class Launch:
    """What came of sizing a pod. Where nothing was granted, the static request stands."""

    before: pod.Before
    static: Static
    granted: bool = False
    prediction_id: str | None = None
    receipt_url: str | None = None

    @property
    def resources(self) -> Any:
        """What the base container asks for now."""
        return self.before.container.resources

    def undo(self) -> None:
        """Back to the static request; the program is told of that one."""
        self.before.restore()
        pod.offer(self.before.container, self.static.enforced)


@dataclass
class Sizing:
    """One try of one task."""

    options: Options
    context: Mapping[str, Any]
    log: logging.Logger
    _hook: LoadawareHook | None = field(default=None, init=False)

    @property
    def hook(self) -> LoadawareHook:
        """The connection of this task."""
        if self._hook is None:
            default = settings.get("conn_id", LoadawareHook.default_conn_name)
            self._hook = LoadawareHook(self.options.conn_id or default)
        return self._hook

    def the_try(self) -> Try:
        """The try's key, in the namespace of the task, of the settings or of the connection."""
        chosen = self.options.namespace or settings.get("namespace")
        return Try.of(self.context, str(chosen or self.hook.extras.get("namespace") or "default"))

    # ---- launch ----

    def launch(self, request: Any, base: str, kill: Kill | None = None) -> Launch:
        """Sizes a pod before it is created; `kill` is known of this run already."""
        container = pod.base_container(request, base)
        done = Launch(pod.Before.of(request, base), pod.static_of(container))
        with fail_open(self.log, "sizing"):
            try:
                if not settings.disabled():
                    self._size(request, base, done, kill)
            except Exception:
                done.before.restore()
                raise
            finally:
                # The program may rely on being told its memory, also of a static request.
                if not done.granted:
                    pod.offer(container, done.static.enforced)
        return done

    def _size(self, request: Any, base: str, done: Launch, kill: Kill | None) -> None:
        bounds = self.options.bounds()
        answer, problem = self._ask(done.static, bounds)
        if kill is None:
            with contextlib.suppress(Exception):
                kill = Kills(settings.state_folder()).recall(self.the_try(), self.context)
        given: Grant | None = None
        if answer is not None:
            try:
                given = grant.of_prediction(answer, bounds, kill, done.static)
            except grant.NonsenseError as error:
                answer, problem = None, f"its answer makes no sense, {error}"
        if answer is None and kill is not None:
            given = grant.after_kill(kill, bounds, done.static)
        if answer is not None:
            done.prediction_id = answer.prediction_id
            with contextlib.suppress(Exception):
                done.receipt_url = self.hook.receipt_url(answer.prediction_id)
        if given is not None:
            if not self.options.size_cpu:
                given = grant.without_cpu(given)
            pod.apply(request, base, given, done.static)
            done.granted = True
        else:
            pod.note(request, done.static, done.prediction_id)
        self._say(done, answer, given, problem)

    def _ask(self, static: Static, bounds: Bounds) -> tuple[Prediction | None, str | None]:
        """The server's answer, or why there is none."""
        try:
            service, key, deadline = self.hook.get_conn(), self.the_try(), Deadline()
            if key.try_number > 1:
                # Else the server would not know yet of the kill that this try comes from.
                with contextlib.suppress(NotAnsweredError, RefusedError):
                    resend.send_waiting(service, Spool(settings.state_folder()), deadline, key.run_key)
            question = {**key.body(), "features": self._features(), "requested": static.requested()}
            if bounds.most:
                question["max_memory_bytes"] = bounds.most
            return service.predict(question, deadline), None
        except Exception as error:  # noqa: BLE001 - whatever it is, the task runs
            return None, f"{type(error).__name__}: {error}"

    def _features(self) -> dict[str, features.Scalar] | None:
        try:
            if self.options.features is None:
                allowed = (*self.options.feature_keys, *settings.names("feature_keys"))
                return features.of_context(self.context, allowed) or None
            return features.given(self.options.features, self.context, self.options.jinja_names) or None
        except Exception as error:  # noqa: BLE001 - a DAG author's function may raise anything
            self.log.warning("loadaware: the features could not be read (%s); asking without", error)
            return None

    def _say(self, done: Launch, answer: Prediction | None, given: Grant | None, problem: str | None) -> None:
        static = say_bytes(done.static.enforced) if done.static.enforced else "no request"
        if answer is None and given is None:
            self.log.warning("loadaware: not asked (%s); static %s stands", problem, static)
        elif given is None and answer is not None:
            self.log.info("loadaware: static %s stands: %s", static, answer.reason)
        elif given is not None:
            say = self.log.info if answer is not None else self.log.warning
            granted = say_bytes(given.memory_limit)
            why = given.reason.removeprefix(f"{granted}: ") + (f" ({problem})" if answer is None else "")
            receipt = f" [{done.receipt_url}]" if done.receipt_url else ""
            say("loadaware: static %s → granted %s: %s%s", static, granted, why, receipt)

    # ---- finish ----

    def finish(self, end: report.End) -> None:
        """Reports a try that ended; asks for the next amount after an OOM. Once for each try of a process."""
        if settings.disabled():
            return
        with fail_open(self.log, "reporting"):
            key = self.the_try()
            if report.first_time(key):
                self._report(key, end)

    def found(self, end: report.End, try_number: int | None) -> Kill | None:
        """Reports a pod that an execution left behind which never came to its end; the kill if it was one.

        The try is the one that the pod was launched for: this one, if Airflow executes it again, or an earlier one.
        """
        if settings.disabled():
            return None
        key = self.the_try()
        return self._report(replace(key, try_number=try_number or key.try_number), end)

    def told(self) -> None:
        """Says that this try's end is told already."""
        report.first_time(self.the_try())

    def _report(self, key: Try, end: report.End) -> Kill | None:
        measured = peak.Peak()
        with fail_open(self.log, "reading the peak"):
            measured = end.measure(self.options.peak_source, self.context)
        outcome = end.outcome(measured)
        body = {**key.body(), **end.body(outcome, measured)}
        if "prediction_id" not in body:
            body["features"] = self._features()  # the server has none from a question
        deadline, spool = Deadline(), Spool(settings.state_folder())
        service: Service | None = None
        try:
            service = self.hook.get_conn()
            for warning in service.observe(body, deadline).warnings or ():
                self.log.warning("loadaware: the report's %s: %s", warning.field, warning.detail)
        except RefusedError as error:
            self._keep(spool, key, body, error, keep=error.later)
        except Exception as error:  # noqa: BLE001 - also a connection that is not there yet
            self._keep(spool, key, body, error, keep=True)
            service = None
        kill = None
        if outcome.lacks_memory and end.allocated_bytes:
            lift = self._lift(service, key, outcome, end, deadline) if service else None
            kill = Kill(end.allocated_bytes, key.try_number, lift.next_bytes if lift else None)
            with fail_open(self.log, "remembering the kill"):
                Kills(settings.state_folder()).remember(key, kill, self.context)
            self.log.warning(
                "loadaware: %s at %s (peak %s %s); %s",
                "OOMKilled" if outcome is Outcome.OOM_KILLED else "the program ran out of memory",
                say_bytes(end.allocated_bytes),
                "≥" if outcome is Outcome.OOM_KILLED else "near",
                say_bytes(max(end.allocated_bytes, measured.memory_bytes or 0)),
                lift.words if lift else "the next try gets more",
            )
        else:
            used = say_bytes(measured.memory_bytes) if measured.memory_bytes else "not measured"
            had = say_bytes(end.allocated_bytes) if end.allocated_bytes else "an unknown amount"
            self.log.info("loadaware: ended as %s: peak %s of %s", outcome.value, used, had)
        if service is not None:
            with contextlib.suppress(NotAnsweredError, RefusedError):
                resend.send_waiting(service, spool, deadline)
        return kill

    def _keep(self, spool: Spool, key: Try, body: dict[str, Any], error: Exception, *, keep: bool) -> None:
        kept = keep and spool.keep(key, body)
        self.log.warning(
            "loadaware: the report was not taken (%s); it %s",
            error,
            "is sent later" if kept else "is dropped",
        )

    def _lift(
        self, service: Service, key: Try, outcome: Outcome, end: report.End, deadline: Deadline
    ) -> grant.Lifted | None:
        question: dict[str, Any] = {
            **key.body(),
            "reason": outcome.value,
            "failed": {"memory_bytes": end.allocated_bytes},
            "requested": end.requested,
        }
        most = self.options.bounds().most
        if most:
            question["max_memory_bytes"] = most
        try:
            return grant.Lifted.of(service.lift(question, deadline), end.allocated_bytes or 0)
        except (NotAnsweredError, RefusedError) as error:
            self.log.warning("loadaware: the next amount is not known yet (%s)", error)
            return None


@contextlib.contextmanager
def fail_open(log: logging.Logger, doing: str) -> Iterator[None]:
    """Turns any error of ours into a warning. Airflow's own signals are no Exceptions and pass."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - this is where they all end
        log.warning("loadaware: %s failed and was left out (%s: %s)", doing, type(error).__name__, error)
