"""Resizes of one pod: how they are sent and recorded, and the return to the static grant."""

from __future__ import annotations

import logging
from collections.abc import Generator
from typing import Any

from airflow_provider_loadaware import pod_state
from airflow_provider_loadaware.plan import Plan
from airflow_provider_loadaware.pod_state import PodState, Resources
from airflow_provider_loadaware.quantity import display_bytes
from airflow_provider_loadaware.resize_requests import Execution, Failure, Request, Resize

TRANSIENT = (None, 408, 409, 429, 500, 502, 503, 504)  # statuses after which the same resize may succeed


class Resizes:
    """Sends the resizes of one pod. Its generators yield requests, as those of Controller do.

    With `can_hand_over`, a refusal of the static limit with a status outside TRANSIENT ends the control, and another
    process sets the static grant.
    """

    def __init__(self, plan: Plan, base: str, log: logging.Logger, *, can_hand_over: bool) -> None:
        self.execution = Execution(plan)
        self._plan = plan
        self._base = base
        self._log = log
        self._can_hand_over = can_hand_over
        self._refusal = ""  # the last logged refusal of the static limit

    def set_static(self, state: PodState, elapsed: float) -> Generator[Request, Any, bool]:
        """Set the static limit and, once it is in force, the static requests. Returns whether this process is done."""
        plan, wanted, in_force = self._plan, state.wanted, state.in_force
        cpu = plan.static_cpu if plan.resizes_cpu else None
        # A limit above the static grant stays, whether in force or only wanted: Kubernetes before 1.34 refuses to lower
        # a limit.
        largest = max(wanted.limit or 0, in_force.limit or 0)
        limit = max(plan.static_bytes, largest) if plan.resizes_memory else largest
        if (in_force.limit or 0) < limit:
            # Ask for the requests in force. The node decides about all amounts at once, so a larger request, which it
            # may not have accepted yet, could block the limit.
            safe = Resources(limit, in_force.request, in_force.cpu)
            if wanted == safe:
                return False
            text = f"memory limit {format_amount(in_force.limit)} → {format_amount(limit)} (static grant)"
            refused = yield from self.send(
                elapsed, text, "fallback", limit=limit, request=safe.request, cpu=safe.cpu if cpu else None
            )
            if refused is None or refused.status in TRANSIENT:
                return False
            if str(refused) != self._refusal:
                self._refusal = str(refused)
                self._log.error(
                    "loadaware: plan: the limit stays at %s: Kubernetes refuses to raise it (%s)",
                    format_amount(in_force.limit),
                    refused,
                )
            self.execution.static_grant_error = self._refusal if self._can_hand_over else None
            return self._can_hand_over
        request = plan.request_of(plan.static_bytes) if plan.resizes_memory else None
        if (request is not None and (wanted.request or 0) < request) or (cpu is not None and wanted.cpu != cpu):
            memory = format_amount(request) if request else "unchanged"
            text = f"requests → memory {memory}, CPU {f'{cpu}m' if cpu else 'unchanged'} (static grant)"
            yield from self.send(elapsed, text, "fallback", request=request, cpu=cpu)
        return True

    def send(
        self,
        elapsed: float,
        text: str,
        why: str,
        *,
        limit: int | None = None,
        request: int | None = None,
        cpu: int | None = None,
    ) -> Generator[Request, Any, Failure | None]:
        """Send one resize, log and record it. Returns the refusal, or None."""
        body = pod_state.patch(self._base, limit=limit, request=request, cpu=cpu)
        answer = yield Resize(body)
        refused = answer if isinstance(answer, Failure) else None
        outcome = f"refused ({refused})" if refused else "sent"
        self._log.info("loadaware: resize after %.0f s: %s: %s; %s", elapsed, text, outcome, why)
        entry = {"seconds": round(elapsed, 3), "result": "refused" if refused else "sent"}
        entry |= {"memory_bytes": limit} if limit else {}
        entry |= {"cpu_millicores": cpu} if cpu else {}
        self.execution.add(entry)
        return refused

    def note_progress(self, state: PodState, elapsed: float) -> None:
        """Record the results of the sent resizes."""
        entries = [e for e in self.execution.resizes if e["result"] not in ("refused", "applied")]
        if not entries:
            return
        if state.is_settled:
            for entry in entries:
                entry |= {"result": "applied", "in_force_seconds": round(elapsed, 3)}
            self._log.info(
                "loadaware: resize in force after %.0f s: limit %s", elapsed, format_amount(state.in_force.limit)
            )
        elif state.pending and entries[-1]["result"] != state.pending.lower():
            entries[-1]["result"] = state.pending.lower()
            self._log.info("loadaware: resize is %s: %s", state.pending, state.message)

    def fall_back(self, reason: str) -> None:
        """Record why the static grant applies for the rest of the try. Only the first reason counts."""
        if self.execution.fallback is None:
            self.execution.fallback = reason
            verb = "returning to the static grant" if self._plan.acts else "no longer observing the plan"
            self._log.warning("loadaware: plan: %s: %s", verb, reason)


def format_amount(count: int | None) -> str:
    """Return an amount of memory for a log line."""
    return display_bytes(count) if count else "none"
