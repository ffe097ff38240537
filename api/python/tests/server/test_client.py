"""Tests of the generated client and the Service against the real server, without Airflow."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest

from airflow_provider_loadaware.grant import LiftAnswer
from airflow_provider_loadaware.resend import send_pending
from airflow_provider_loadaware.service import Deadline, RejectedError, Service
from airflow_provider_loadaware.spool import Spool
from airflow_provider_loadaware.tries import Try
from loadaware_client import AuthenticatedClient
from loadaware_client.api.ask import predict
from loadaware_client.api.service import health
from loadaware_client.api.tasks import get_receipt, get_series, get_task, list_tasks
from loadaware_client.models.predict_request import PredictRequest
from loadaware_client.models.prediction import Prediction
from loadaware_client.models.problem import Problem
from loadaware_client.models.receipt import Receipt
from loadaware_client.models.source import Source
from loadaware_client.models.task_page import TaskPage
from loadaware_client.models.task_profile import TaskProfile
from loadaware_client.models.usage_series_type_0 import UsageSeriesType0

from .conftest import PREDICT_TOKEN, TOKEN

GIB = 1 << 30
_runs = itertools.count()


@pytest.fixture
def client(url: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=url, token=TOKEN)


@pytest.fixture
def service(url: str) -> Service:
    return Service(url, TOKEN)


def new_try(task: str, number: int = 1, run: str | None = None) -> Try:
    return Try("default", "client", task, run or f"run-{next(_runs)}", -1, number)


def prediction_request(key: Try, **more: Any) -> dict[str, Any]:
    return {**key.body(), "requested": {"memory_bytes": 8 * GIB}, **more}


def test_the_generated_client_predicts(client: AuthenticatedClient) -> None:
    body = PredictRequest.from_dict({"dag_id": "client", "task_id": "new", "requested": {"memory": "8Gi"}})
    answer = predict.sync(client=client, body=body)
    assert isinstance(answer, Prediction)
    assert answer.source is Source.REQUESTED and answer.memory is not None
    assert answer.memory.request_bytes == 8 * GIB
    alive = health.sync(client=client)
    assert alive is not None and alive.to_dict() == {"status": "ok"}


def test_the_generated_client_parses_a_problem(url: str) -> None:
    body = PredictRequest.from_dict({"dag_id": "client", "task_id": "unknown"})
    not_found = predict.sync_detailed(client=AuthenticatedClient(base_url=url, token=TOKEN), body=body)
    unauthenticated = predict.sync_detailed(client=AuthenticatedClient(base_url=url, token="no"), body=body)
    assert (not_found.status_code, unauthenticated.status_code) == (404, 401)
    assert isinstance(not_found.parsed, Problem) and not_found.parsed.type_.endswith("not-found")


def test_a_history_lowers_the_grant(service: Service, client: AuthenticatedClient) -> None:
    for _ in range(40):
        key = new_try("learned")
        features = {"rows": 100}
        report = {
            **key.body(),
            "outcome": "success",
            "memory_max_bytes": GIB,
            "duration_seconds": 60.0,
            "allocated": {"memory_bytes": 8 * GIB},
            "features": features,
        }
        assert service.observe(report, Deadline()).recorded
    key = new_try("learned")
    answer = service.predict(prediction_request(key, features={"rows": 100}), Deadline())
    assert answer.source in (Source.MODEL, Source.PROFILE) and answer.memory is not None
    assert GIB <= answer.memory.request_bytes < 8 * GIB

    receipt = get_receipt.sync(client=client, prediction_id=answer.prediction_id)
    assert isinstance(receipt, Receipt) and receipt.answer.memory == answer.memory
    profile = get_task.sync(client=client, dag_id="client", task_id="learned")
    assert isinstance(profile, TaskProfile) and profile.observations == 40
    page = list_tasks.sync(client=client)
    assert isinstance(page, TaskPage) and "learned" in {t.task_id for t in page.tasks}


def test_the_try_after_a_kill_gets_the_announced_amount(service: Service) -> None:
    first = new_try("killed")
    killed = {**first.body(), "outcome": "oom_killed", "allocated": {"memory_bytes": 2 * GIB}}
    service.observe(killed, Deadline())
    lift = {
        **first.body(),
        "reason": "oom_killed",
        "failed": {"memory_bytes": 2 * GIB},
        "requested": {"memory_bytes": 8 * GIB},
        "max_memory_bytes": 64 * GIB,
    }
    lifted = LiftAnswer.of(service.lift(lift, Deadline()), 2 * GIB)
    assert lifted.next_bytes is not None and 2 * GIB < lifted.next_bytes <= 64 * GIB
    second = new_try("killed", 2, first.run_id)
    answer = service.predict(prediction_request(second, max_memory_bytes=64 * GIB), Deadline())
    assert answer.source is Source.LIFT and answer.memory is not None
    assert answer.memory.limit_bytes == lifted.next_bytes


def test_a_series_round_trips(service: Service, client: AuthenticatedClient) -> None:
    key = new_try("series")
    series = {"step_seconds": 0.8, "memory_bytes": [0, GIB], "cpu_cores": [0.5, 1.02]}
    report = {**key.body(), "outcome": "success", "memory_max_bytes": GIB}
    assert service.observe(report, Deadline()).recorded
    assert service.observe({**report, "usage_series": series}, Deadline()).amended
    stored = get_series.sync(client=client, dag_id="client", task_id="series", run_id=key.run_id)
    assert isinstance(stored, UsageSeriesType0) and stored.to_dict() == series


def test_an_eviction_is_not_lifted(service: Service) -> None:
    key = new_try("evicted")
    answer = service.lift({**key.body(), "reason": "evicted", "failed": {"memory_bytes": GIB}}, Deadline())
    assert LiftAnswer.of(answer, GIB).next_bytes == GIB


def test_pending_reports_are_sent_and_counted_once(
    service: Service, client: AuthenticatedClient, tmp_path: Any
) -> None:
    spool = Spool(tmp_path)
    keys = [new_try("pending") for _ in range(3)]
    for key in keys:
        report = {**key.body(), "outcome": "success", "memory_max_bytes": GIB, "duration_seconds": 1.0}
        spool.add(key, report)
        if key is keys[0]:
            service.observe(report, Deadline())  # sent, but its answer was lost
    invalid = new_try("pending")
    spool.add(invalid, {**invalid.body(), "outcome": "success", "memory_max_bytes": -1})
    send_pending(service, spool, Deadline())
    assert spool.pending(10) == {}
    profile = get_task.sync(client=client, dag_id="client", task_id="pending")
    assert isinstance(profile, TaskProfile) and profile.observations == 3


def test_a_contradiction_is_rejected_permanently(service: Service) -> None:
    key = new_try("contradicted")
    service.observe({**key.body(), "outcome": "success"}, Deadline())
    with pytest.raises(RejectedError) as caught:
        service.observe({**key.body(), "outcome": "failed"}, Deadline())
    assert caught.value.status == 409 and not caught.value.retryable


@pytest.mark.parametrize(("token", "status"), [("wrong", 401), (PREDICT_TOKEN, 403)])
def test_the_connection_test_detects_an_insufficient_token(url: str, service: Service, token: str, status: int) -> None:
    assert service.check(Deadline()).status == "ready"
    with pytest.raises(RejectedError) as caught:
        Service(url, token).check(Deadline())
    assert caught.value.status == status


def test_airflow_is_not_imported() -> None:
    code = (
        "import sys, loadaware_client, airflow_provider_loadaware.service; "
        "print([n for n in sys.modules if n.split('.')[0] == 'airflow'])"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
