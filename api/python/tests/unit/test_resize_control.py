"""Tests of the resize controller in simulated time."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import pytest

from airflow_provider_loadaware.pod_state import Resources
from airflow_provider_loadaware.resize_requests import Failure

from .fake_cluster import MIB, PLAN, Simulation, phase_answer

LOG = logging.getLogger("test")
STATIC = PLAN.static_bytes
FORBIDDEN = Failure(403, "Forbidden")
OUTAGE = Failure(None, "no answer")


def ramp(now: float) -> int:
    """Use 100 MiB, and 3 MiB more each second."""
    return int((100 + 3 * now) * MIB)


def follow(body: dict[str, Any]) -> dict[str, Any]:
    """Answer with a limit of 100 MiB above the largest usage, or the present limit if that is larger."""
    memory = max(body["limit_bytes"], body.get("memory_max_bytes", 0) + 100 * MIB)
    return phase_answer(memory, body["elapsed_seconds"] + 15, cpu=500)


def no_capacity(wanted: Resources, in_force: Resources, reason: str) -> str | None:
    """Return `reason` if the wanted requests are larger than those in force: the node has no capacity for them."""
    larger = (wanted.request or 0) > (in_force.request or 0) or (wanted.cpu or 0) > (in_force.cpu or 0)
    return reason if larger else None


def test_the_limit_follows_the_usage_and_the_plan_counts_as_followed() -> None:
    run = Simulation(ramp, follow)
    done = run.run(LOG)
    assert not run.killed
    assert ramp(299) < (run.in_force.limit or 0) < ramp(300) + 120 * MIB
    assert run.in_force.request == run.in_force.limit
    executed = done.to_dict()
    assert (executed["version"], executed["mode"], executed["followed"]) == (3, "memory", True)
    assert (executed["start_bytes"], executed["fallback"]) == (200 * MIB, None)
    assert {entry["result"] for entry in executed["resizes"]} <= {"applied", "sent"}
    first = executed["resizes"][0]
    assert first["seconds"] < first["in_force_seconds"] <= first["seconds"] + 10


def test_a_call_of_phase_contains_the_usage_so_far() -> None:
    run = Simulation(ramp, follow, ends_at=30)
    run.run(LOG)
    first, last = run.phase_requests[0], run.phase_requests[-1]
    assert (first["elapsed_seconds"], first["limit_bytes"], first["static_bytes"]) == (0, 200 * MIB, STATIC)
    assert (first["cpu_millicores"], first["static_cpu_millicores"]) == (500, 2000)
    assert last["samples"][0] == {"seconds": 0, "memory_bytes": 100 * MIB, "cpu_cores": 0.75}
    assert (
        last["memory_max_bytes"]
        == last["samples"][-1]["memory_bytes"]
        == ramp(run.phase_requests[-1]["elapsed_seconds"])
    )
    assert {"dag_id": "d", "try_number": 1}.items() <= last.items()


def test_cpu_precedes_memory_and_the_request_precedes_the_limit() -> None:
    plan = dataclasses.replace(PLAN, request_share=0.5)
    run = Simulation(lambda now: 50 * MIB, lambda body: phase_answer(600 * MIB, 20, 600, 800), plan, ends_at=20)
    run.run(LOG)
    amounts = [(p.limit, p.request, p.cpu) for _, p in run.patches]
    start = 200 * MIB
    assert amounts == [(start, start // 2, 800), (start, start, 800), (600 * MIB, 300 * MIB, 800)]


@pytest.mark.parametrize("reason", ["Deferred", "Infeasible"])
def test_a_pod_on_a_node_without_capacity_gets_the_static_limit_with_the_old_request(reason: str) -> None:
    run = Simulation(ramp, follow)
    run.pending_reason = lambda wanted, in_force: no_capacity(wanted, in_force, reason)
    done = run.run(LOG)
    assert not run.killed and ramp(299) < STATIC
    assert reason in (done.fallback or "")
    at, safe = next((at, p) for at, p in run.patches if p.limit == STATIC)
    assert safe == Resources(STATIC, 200 * MIB, 500)
    first_resize_at = run.patches[0][0]
    assert at <= first_resize_at + (5 if reason == "Infeasible" else 20)
    assert run.in_force.limit == STATIC, "the static limit is not in force"
    assert run.patches[-1][1] == Resources(STATIC, STATIC, 2000), "the last resize did not restore the static requests"


def test_a_deferred_resize_that_fits_before_its_deadline_is_no_failure() -> None:
    run = Simulation(ramp, lambda body: {**follow(body), "by_seconds": 250.0})
    run.pending_reason = lambda wanted, in_force: no_capacity(wanted, in_force, "Deferred") if run.now < 12 else None

    def admit(now: float) -> int:  # from 12 s on, the node has capacity and accepts the pending resize
        if now >= 12 and run.wanted != run.in_force and not run._due:
            run._due.append((now, run.wanted))
        return ramp(now)

    run.usage = admit
    done = run.run(LOG)
    assert not run.killed
    assert done.fallback is None


@pytest.mark.parametrize("status", [403, 404, 405, 422])
def test_a_refused_resize_leads_to_the_static_grant(status: int) -> None:
    run = Simulation(ramp, follow)
    run.refuse = lambda wanted, now: Failure(status, "no") if len(run.patches) == 1 else None
    done = run.run(LOG)
    assert not run.killed
    assert run.in_force.limit == STATIC
    assert done.fallback == f"the resize was refused ({status}: no)"
    assert run.patches[1][0] == run.patches[0][0], "the static grant did not follow at once"
    assert done.to_dict()["resizes"][0]["result"] == "refused"


def test_a_trigger_that_may_not_resize_leaves_the_static_grant_to_a_worker() -> None:
    run = Simulation(ramp, follow, refuse=lambda wanted, now: FORBIDDEN, can_hand_over=True)
    done = run.run(LOG)
    assert done.static_grant_error == "403: Forbidden"
    assert run.now < 30


def test_a_worker_tries_until_kubernetes_accepts_the_static_grant() -> None:
    run = Simulation(lambda now: 100 * MIB, lambda body: phase_answer(300 * MIB, 20), ends_at=200)
    run.refuse = lambda wanted, now: FORBIDDEN if now < 60 else None
    run.run(LOG)
    assert run.in_force.limit == STATIC


def test_a_resize_is_repeated_after_a_transient_error() -> None:
    run = Simulation(ramp, follow)
    run.refuse = lambda wanted, now: Failure(503, "busy") if len(run.patches) == 1 else None
    done = run.run(LOG)
    assert not run.killed
    assert done.fallback is None


def test_an_outage_of_the_server_leads_to_the_static_grant_at_once() -> None:
    run = Simulation(ramp, lambda body: follow(body) if body["elapsed_seconds"] < 100 else OUTAGE)
    done = run.run(LOG)
    assert not run.killed
    assert done.fallback == "POST /phase failed (no answer)"
    at = next(at for at, p in run.patches if p.limit == STATIC)
    assert 100 <= at <= 106
    assert run.in_force.limit == STATIC


@pytest.mark.parametrize("answer", [{}, {"memory_bytes": "much", "by_seconds": 1, "ask_again_seconds": 5}])
def test_an_invalid_answer_leads_to_the_static_grant(answer: dict[str, Any]) -> None:
    run = Simulation(ramp, lambda body: answer)
    run.run(LOG)
    assert not run.killed
    assert run.in_force.limit == STATIC


def test_unknown_usage_leads_to_the_static_grant() -> None:
    run = Simulation(
        lambda now: 100 * MIB, follow, metrics=lambda now: Failure(404, "no metrics") if now > 50 else None
    )
    done = run.run(LOG)
    assert "the usage has been unknown" in (done.fallback or "")
    at = next(at for at, p in run.patches if p.limit == STATIC)
    assert 105 <= at <= 120


def test_a_long_outage_of_the_api_server_leads_to_the_static_grant() -> None:
    run = Simulation(lambda now: 100 * MIB, follow, api=lambda now: OUTAGE if 50 < now < 100 else None)
    done = run.run(LOG)
    assert done.fallback == "the pod cannot be read (no answer)"
    assert run.in_force.limit == STATIC


def test_a_short_outage_of_the_api_server_is_no_failure() -> None:
    run = Simulation(lambda now: 100 * MIB, follow, api=lambda now: OUTAGE if 50 < now < 59 else None)
    assert run.run(LOG).fallback is None


def test_a_deleted_pod_ends_the_control() -> None:
    run = Simulation(ramp, follow, api=lambda now: Failure(404, "gone") if now > 20 else None)
    run.run(LOG)
    assert run.now < 30


def test_after_a_restart_another_process_continues_a_plan_that_does_not_count_as_followed() -> None:
    run = Simulation(ramp, follow)
    run.run(LOG, until=100)
    reached = run.wanted.limit or 0
    done = run.run(LOG)
    assert not run.killed
    assert 200 * MIB < reached < (run.in_force.limit or 0)
    assert done.to_dict()["followed"] is False
    assert done.to_dict()["fallback"] == "another process may have executed the first part"


def test_a_limit_above_the_static_grant_stays() -> None:
    run = Simulation(lambda now: 100 * MIB, lambda body: phase_answer(1500 * MIB, 20))
    run.answer = lambda body: phase_answer(1500 * MIB, 20) if body["elapsed_seconds"] < 30 else OUTAGE
    run.run(LOG)
    assert run.in_force.limit == 1500 * MIB


def test_the_maximum_bounds_the_limit() -> None:
    plan = dataclasses.replace(PLAN, maximum=1200 * MIB)
    run = Simulation(lambda now: 100 * MIB, lambda body: phase_answer(5000 * MIB, 20), plan)
    run.run(LOG)
    assert run.in_force.limit == 1200 * MIB
    assert run.phase_requests[0]["max_memory_bytes"] == 1200 * MIB


def test_a_pending_cpu_request_is_undone_and_does_not_block_the_memory() -> None:
    def only_cpu(wanted: Resources, in_force: Resources) -> str | None:
        return "Deferred" if (wanted.cpu or 0) > (in_force.cpu or 0) else None

    run = Simulation(ramp, lambda body: {**follow(body), "cpu_millicores": 1500}, pending_reason=only_cpu)
    done = run.run(LOG)
    assert not run.killed
    assert done.fallback is None
    assert run.in_force.cpu == 500


def test_a_cpu_plan_changes_only_the_cpu_request() -> None:
    plan = dataclasses.replace(PLAN, mode="cpu", cpu_limit=1000)
    run = Simulation(
        ramp, lambda body: phase_answer(1200 * MIB, 20, 60, 3000 if len(run.phase_requests) == 1 else 250), plan
    )
    done = run.run(LOG)
    assert [p.cpu for _, p in run.patches] == [1000, 250], "the request must be at most the CPU limit"
    assert {(p.limit, p.request) for _, p in run.patches} == {(STATIC, STATIC)}
    assert done.to_dict()["followed"] is True


def test_a_cpu_plan_returns_to_the_static_cpu_request() -> None:
    plan = dataclasses.replace(PLAN, mode="cpu")
    run = Simulation(ramp, lambda body: OUTAGE, plan)
    run.run(LOG)
    assert [(p.limit, p.request, p.cpu) for _, p in run.patches] == [(STATIC, STATIC, 2000)]


def test_an_observed_plan_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    plan = dataclasses.replace(PLAN, mode="observe")
    run = Simulation(ramp, lambda body: phase_answer(body["memory_max_bytes"] + 100 * MIB, 20), plan, ends_at=60)
    with caplog.at_level("INFO"):
        done = run.run(LOG)
    assert run.patches == []
    assert "would set memory to" in caplog.text
    assert done.to_dict()["followed"] is False
    failed = Simulation(ramp, lambda body: OUTAGE, plan)
    failed.run(LOG)
    assert failed.patches == [] and failed.now < 10


def test_phase_is_called_at_the_start_at_steps_and_when_usage_grows() -> None:
    plan = dataclasses.replace(PLAN, ask_by_seconds=(40.0,))
    run = Simulation(
        lambda now: 100 * MIB if now < 70 else 120 * MIB, lambda body: phase_answer(200 * MIB, 0, 100.0), plan
    )
    run.run(LOG, until=150)
    assert [round(body["elapsed_seconds"]) for body in run.phase_requests] == [0, 40, 70]


def test_every_resize_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    run = Simulation(ramp, follow, ends_at=80)
    with caplog.at_level("INFO"):
        done = run.run(LOG)
    sent = [record.message for record in caplog.records if "resize after" in record.message]
    assert len(sent) == len(done.resizes) == len(run.patches) > 2
    assert "memory 200Mi → " in sent[0] and "phase 1: it grows" in sent[0]


def test_return_to_static_sets_the_static_limit_at_once() -> None:
    run = Simulation(ramp, follow)
    controller = run.controller(LOG)
    done = run.drive(controller, controller.return_to_static("the trigger may not resize"))
    assert run.in_force == Resources(STATIC, 200 * MIB, 500)
    assert run.patches[0][0] == 0
    assert run.phase_requests == []
    assert done.fallback == "the trigger may not resize"


def test_a_pending_resize_falls_back_before_its_deadline_if_the_usage_is_near_the_limit() -> None:
    run = Simulation(lambda now: int((100 + now) * MIB), lambda body: {**follow(body), "by_seconds": 280.0})
    run.pending_reason = lambda wanted, in_force: no_capacity(wanted, in_force, "Deferred")
    done = run.run(LOG)
    assert not run.killed
    assert "near the limit" in (done.fallback or "")
    at = next(at for at, p in run.patches if p.limit == STATIC)
    assert 90 <= at <= 96


def request_only(**more: Any) -> Simulation:
    """Return a simulation of a pod whose memory limit is the static grant, and whose request follows the plan."""
    run = Simulation(ramp, follow, dataclasses.replace(PLAN, keeps_limit=True), **more)
    start = Resources(STATIC, PLAN.start_bytes, PLAN.start_cpu)
    run.wanted = run.in_force = start
    return run


def test_a_plan_that_keeps_the_limit_changes_only_the_requests() -> None:
    run = request_only(ends_at=250)
    executed = run.run(LOG).to_dict()
    assert {patch.limit for _, patch in run.patches} == {STATIC}
    assert ramp(249) < (run.wanted.request or 0) < STATIC
    assert (executed["followed"], executed["start_bytes"]) == (False, STATIC)
    limits = [body["limit_bytes"] for body in run.phase_requests]
    assert limits[0] == 200 * MIB, "the call must contain the limit of the plan, not that of the pod"
    assert 700 * MIB < limits[-1] < STATIC


def test_a_lost_worker_does_not_harm_a_pod_that_keeps_its_limit() -> None:
    run = request_only()
    run.run(LOG, until=20)  # then the worker is lost
    while run.now < run.ends_at:
        run._advance(1.0)
    assert not run.killed


def test_a_plan_that_keeps_the_limit_raises_it_above_the_static_grant_if_the_usage_needs_that() -> None:
    run = request_only(ends_at=400)
    run.run(LOG)
    assert not run.killed
    assert (run.in_force.limit or 0) > STATIC


def test_after_an_outage_the_request_equals_the_static_grant() -> None:
    run = request_only(ends_at=60)
    run.answer = lambda body: OUTAGE
    run.run(LOG)
    assert run.wanted.request == run.wanted.limit == STATIC
