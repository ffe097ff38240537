"""The control of one running try: which amounts its pod gets, and when.

`Controller.run` is a generator without I/O. It yields a request, and the caller sends back the result. The caller is a
thread of a synchronous task, the event loop of the triggerer or, for the return to the static grant, the worker of a
deferrable task.

    read the pod ─▶ read its usage ─▶ POST /phase ─▶ patch pods/resize ─▶ sleep ─▶ …
         fall_back, after a failure ─▶ static grant, for the rest of the try

The pod and its annotation contain all that a plan needs, so another process can continue after a restart.

A resize changes the CPU request first, then the memory request up to the unchanged limit, then the limit. A limit never
shrinks. The return to the static grant raises the limit before the requests: nodes reserve requests, so a node without
capacity for the larger request still accepts the larger limit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from datetime import datetime, timezone
from typing import Any

from airflow_provider_loadaware.plan import Plan
from airflow_provider_loadaware.pod_state import INFEASIBLE, PodState, Usage
from airflow_provider_loadaware.resize_requests import (
    Ask,
    Failure,
    ReadPod,
    ReadUsage,
    Request,
    Requests,
    Sleep,
)
from airflow_provider_loadaware.resizes import TRANSIENT, Resizes, format_amount

MAX_SAMPLES = 1000  # in a call of /phase
# Seconds without a new sample before the fallback; a plan with long poll_seconds or reaction_seconds allows more.
# metrics-server takes up to a minute for the first sample.
MAX_SAMPLE_DELAY = 60.0
READ_FAILURES = 3  # consecutive failed reads of the pod; with more, the usage may reach the limit before the fallback

_GONE = 404
# Share of the limit in force. If the peak reaches it, a limit that is not in force yet comes too late.
_NEAR_LIMIT_SHARE = 0.95


class Controller:
    """Executes the plan of one pod. `key` contains the fields that name the try in POST /phase."""

    def __init__(
        self,
        plan: Plan,
        base: str,
        key: dict[str, Any],
        log: logging.Logger,
        *,
        can_hand_over: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        self._resizes = Resizes(plan, base, log, can_hand_over=can_hand_over)
        self.execution = self._resizes.execution
        self._plan = plan
        self._base = base
        self._key = key
        self._log = log
        self._now = now
        self._samples: list[dict[str, Any]] = []
        self._peak = 0
        self._peak_at_call = 0  # the peak at the last call of /phase
        self._called_at = -1.0  # elapsed seconds of that call
        self._ask_at = 0.0  # elapsed seconds at which the next call is due
        self._observed = 0  # if the plan does not act: largest memory limit in bytes that /phase has answered
        self._usage_at: float | None = None  # elapsed seconds of the newest sample or, without one, of the first read
        self._deadline: float | None = None  # elapsed seconds by which the wanted resources should be in force
        self._cpu_frozen = False  # a CPU request was refused or pending; the plan no longer changes the CPU request

    def run(self) -> Requests:
        """Yield requests until the container ends, the pod is gone, or nothing remains to be done after a failure."""
        failures = 0
        first = True
        while True:
            found = yield ReadPod()
            if isinstance(found, Failure):
                failures += 1
                if found.status == _GONE:
                    return self.execution
                if failures == READ_FAILURES:
                    self._resizes.fall_back(f"the pod cannot be read ({found})")
                yield Sleep(self._plan.poll_seconds)
                continue
            failures = 0
            state = PodState.of(found, self._base)
            if state.ended:
                return self.execution
            if state.started_at is not None:
                elapsed = max(0.0, (self._now() - state.started_at).total_seconds())
                if first:
                    first = False
                    self._record_completeness(elapsed, state)
                if (yield from self._step(state, elapsed)):
                    return self.execution
            yield Sleep(self._plan.poll_seconds)

    def return_to_static(self, reason: str) -> Requests:
        """Fall back to the static grant now, and continue as `run`."""
        self._resizes.fall_back(reason)
        return (yield from self.run())

    def _record_completeness(self, elapsed: float, state: PodState) -> None:
        """Note whether another process may have executed the first part of the plan."""
        plan = self._plan
        self._usage_at = elapsed
        started_as_planned = not plan.resizes_memory or plan.followed_limit(state.wanted) == plan.start_bytes
        in_time = not plan.ask_by_seconds or elapsed <= plan.ask_by_seconds[0]
        self.execution.is_complete = started_as_planned and in_time
        if not self.execution.is_complete:
            self._log.info(
                "loadaware: plan: continuing after %.0f s with the limit %s", elapsed, format_amount(state.wanted.limit)
            )

    def _step(self, state: PodState, elapsed: float) -> Generator[Request, Any, bool]:
        """Measure the usage and send the resizes that are due. Returns whether nothing remains to be done."""
        self._resizes.note_progress(state, elapsed)
        if self.execution.fallback is None:
            yield from self._measure(elapsed)
            yield from self._check_pending(state, elapsed)
        if self.execution.fallback is None and self._is_ask_due(elapsed):
            yield from self._ask_and_resize(state, elapsed)
        if self.execution.fallback is None:
            return False
        if not self._plan.acts:
            return True
        return (yield from self._resizes.set_static(state, elapsed))

    # ---- usage and plan ----

    def _measure(self, elapsed: float) -> Generator[Request, Any, None]:
        found = yield ReadUsage()
        usage = None if isinstance(found, Failure) else Usage.of(found, self._base)
        if usage is not None:
            at = max(0.0, elapsed - (self._now() - usage.at).total_seconds())
            if not self._samples or at > self._samples[-1]["seconds"]:
                sample = {"seconds": round(at, 3), "memory_bytes": usage.memory_bytes, "cpu_cores": usage.cpu_cores}
                self._samples = [*self._samples, sample][-MAX_SAMPLES:]
                self._peak = max(self._peak, usage.memory_bytes)
                self._usage_at = at
        late = elapsed - (self._usage_at or 0.0)
        if late > max(MAX_SAMPLE_DELAY, 4 * (self._plan.poll_seconds + self._plan.reaction_seconds)):
            cause = found if isinstance(found, Failure) else "no new sample"
            self._resizes.fall_back(f"the usage has been unknown for {late:.0f} s ({cause})")

    def _is_ask_due(self, elapsed: float) -> bool:
        is_step_due = any(self._called_at < ask_by <= elapsed for ask_by in self._plan.ask_by_seconds)
        return is_step_due or elapsed >= self._ask_at or self._peak > 1.01 * self._peak_at_call

    def _ask_and_resize(self, state: PodState, elapsed: float) -> Generator[Request, Any, None]:
        plan, wanted = self._plan, state.wanted
        body = {
            **self._key,
            "elapsed_seconds": round(elapsed, 3),
            # A plan that does not act leaves the limit of the pod unchanged, so the call sends the limit at the
            # start of the plan.
            "limit_bytes": plan.followed_limit(wanted) if plan.acts else plan.start_bytes,
            "static_bytes": plan.static_bytes,
            "cpu_millicores": wanted.cpu if plan.start_cpu else None,
            "static_cpu_millicores": plan.static_cpu,
            "memory_max_bytes": self._peak or None,
            "max_memory_bytes": plan.maximum,
            "samples": self._samples,
        }
        answer = yield Ask({name: value for name, value in body.items() if value is not None})
        self._called_at, self._peak_at_call = elapsed, self._peak
        if isinstance(answer, Failure):
            self._resizes.fall_back(f"POST /phase failed ({answer})")
            return
        try:
            target, by = int(answer["memory_bytes"]), float(answer["by_seconds"])
            self._ask_at = elapsed + max(plan.poll_seconds, float(answer["ask_again_seconds"]))
            cpu = answer.get("cpu_millicores")
            cpu = None if cpu is None else plan.bounded_cpu(int(cpu))
        except (KeyError, TypeError, ValueError) as error:
            self._resizes.fall_back(f"POST /phase: invalid answer ({type(error).__name__}: {error})")
            return
        why = f"phase {answer.get('phase')}: {answer.get('reason') or ''}"
        if not plan.acts:
            if target > self._observed:
                self._observed = target
                self._log.info("loadaware: plan (observe): would set memory to %s; %s", format_amount(target), why)
            return
        target = min(target, plan.maximum or target) if plan.resizes_memory else wanted.limit or 0
        yield from self._resize(state, elapsed, target, cpu, max(by, elapsed + plan.reaction_seconds), why)

    # ---- resizes ----

    def _resize(
        self, state: PodState, elapsed: float, target: int, cpu: int | None, by: float, why: str
    ) -> Generator[Request, Any, None]:
        plan, wanted = self._plan, state.wanted
        limit, request = wanted.limit or plan.static_bytes, wanted.request or 0
        if plan.resizes_cpu and cpu is not None and cpu != wanted.cpu and not self._cpu_frozen:
            text = f"CPU request {wanted.cpu}m → {cpu}m"
            refused = yield from self._resizes.send(elapsed, text, why, cpu=cpu)
            if refused is not None:
                self._cpu_frozen = True
                self._log.warning("loadaware: plan: the CPU request stays at %sm (%s)", wanted.cpu, refused)
        if not plan.resizes_memory:
            return
        goal = plan.request_of(target if plan.keeps_limit else max(target, limit))
        within = min(goal, limit)
        if within > request:
            text = f"memory request {format_amount(request)} → {format_amount(within)} within the limit"
            refused = yield from self._resizes.send(elapsed, text, why, request=within)
            if refused is not None and refused.status not in TRANSIENT:
                self._resizes.fall_back(f"the resize was refused ({refused})")
                return
        if target > limit:
            text = f"memory {format_amount(limit)} → {format_amount(target)} by {by:.0f} s"
            refused = yield from self._resizes.send(elapsed, text, why, limit=target, request=goal)
            self._deadline = by if self._deadline is None else min(by, self._deadline)
            if refused is None:
                return
            if refused.status not in TRANSIENT:
                self._resizes.fall_back(f"the resize was refused ({refused})")
            else:
                self._ask_at = elapsed  # again at the next poll

    def _check_pending(self, state: PodState, elapsed: float) -> Generator[Request, Any, None]:
        """Take back a pending CPU request; fall back if a larger memory limit is infeasible or comes too late."""
        wanted, in_force = state.wanted, state.in_force
        if state.is_settled:
            self._deadline = None
            return
        if not self._plan.acts:
            return
        if state.pending and wanted.cpu != in_force.cpu and not self._cpu_frozen:
            # A node decides about all amounts of a pod together, so a pending CPU request would block the memory.
            self._cpu_frozen = True
            text = f"CPU request {wanted.cpu}m → {in_force.cpu}m, because it is {state.pending}"
            yield from self._resizes.send(elapsed, text, state.message, cpu=in_force.cpu)
            return
        if not self._plan.resizes_memory or wanted.limit == in_force.limit:
            return
        if self._deadline is None:  # another process sent the resize
            self._deadline = elapsed + self._plan.reaction_seconds
        if state.pending == INFEASIBLE:
            self._resizes.fall_back(f"the resize is Infeasible ({state.message})")
        elif elapsed >= self._deadline or self._peak >= _NEAR_LIMIT_SHARE * (in_force.limit or 0):
            if state.pending:
                status = f"{state.pending} ({state.message})"
            else:
                status = f"failing ({state.error})" if state.error else "not in force"
            when = "at its deadline" if elapsed >= self._deadline else "and the usage is near the limit"
            self._resizes.fall_back(f"the resize is {status} {when}")
