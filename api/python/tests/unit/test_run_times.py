"""Tests of the execution timeout, of the structure of a DAG, and of the interval of a deadline alert."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_loadaware import run_times, structure
from airflow_provider_loadaware.service import RejectedError, Service
from airflow_provider_loadaware.tries import Try

from .conftest import ScriptedServer, connect

KEY = Try("default", "pricing", "predict/demand", "r1")
RUN_TIME = "/tasks/pricing/predict%2Fdemand/runtime?product_count=1253&namespace=default&risk=0.01"


def dag(**upstream: set[str]) -> Any:
    tasks = [SimpleNamespace(task_id=name, upstream_task_ids=ids) for name, ids in upstream.items()]
    return SimpleNamespace(dag_id="pricing", tasks=tasks)


def test_advice_contains_the_suggested_timeout(server: ScriptedServer) -> None:
    server.answers[RUN_TIME] = (200, {"execution_timeout": {"seconds": 600.5}, "timeout_probability": None})
    server.answers[RUN_TIME + "&execution_timeout_seconds=60.0"] = (
        200,
        {"execution_timeout": {"seconds": 600.5}, "timeout_probability": 0.2},
    )
    service, features = Service(server.url), {"product_count": 1253, "unknown": None}
    assert run_times.advice_for(service, KEY, features, 0.01, None) == run_times.Advice(timedelta(seconds=600.5))
    advice = run_times.advice_for(service, KEY, features, 0.01, timedelta(minutes=1))
    assert advice.stopped == 0.2


def test_features_keep_their_kind_in_a_query(server: ScriptedServer) -> None:
    path = "/tasks/pricing/predict%2Fdemand/runtime?store=%2217%22&is_full=true&n=7&namespace=default&risk=0.01"
    server.answers[path] = (200, {"execution_timeout": {"seconds": 600.5}})
    features = {"store": "17", "is_full": True, "n": 7, "risk": 3, "elapsed_seconds": 60}
    assert run_times.advice_for(Service(server.url), KEY, features, 0.01, None).suggested == timedelta(seconds=600.5)


@pytest.mark.parametrize("seconds", [None, 0, -1, "600", float("1e12"), True])
def test_an_invalid_suggestion_is_an_error(server: ScriptedServer, seconds: Any) -> None:
    server.answers[RUN_TIME] = (200, {"execution_timeout": {"seconds": seconds}})
    with pytest.raises(ValueError, match="the server answered"):
        run_times.advice_for(Service(server.url), KEY, {"product_count": 1253}, 0.01, None)


def test_bound_timeout_adds_the_startup_and_keeps_both_bounds() -> None:
    hour, startup = run_times.Advice(timedelta(hours=1)), timedelta(minutes=2)
    assert run_times.bound_timeout(hour, None, startup) == timedelta(minutes=62)
    assert run_times.bound_timeout(hour, timedelta(minutes=30), startup) == timedelta(minutes=30)
    assert run_times.bound_timeout(run_times.Advice(timedelta(seconds=2)), None, timedelta()) == run_times.MIN_TIMEOUT


def test_a_structure_is_sent_when_it_changes(server: ScriptedServer, tmp_path: Path) -> None:
    path, service = "/dags/pricing/structure?namespace=default", Service(server.url)
    server.answers[path] = (200, {})
    first, second = dag(b={"a"}, a=set()), dag(b={"a"}, a=set(), c={"b", "a"})
    assert structure.send_changed(service, "default", first, tmp_path)
    assert not structure.send_changed(service, "default", first, tmp_path)
    assert structure.send_changed(service, "default", second, tmp_path)
    assert server.bodies_of(path)[1] == {
        "tasks": [
            {"task_id": "a", "upstream": []},
            {"task_id": "b", "upstream": ["a"]},
            {"task_id": "c", "upstream": ["a", "b"]},
        ]
    }
    assert not structure.send_changed(service, "default", dag(), tmp_path)
    assert not structure.send_changed(service, "default", first, None)


def test_a_rejected_structure_is_not_sent_again(server: ScriptedServer, tmp_path: Path) -> None:
    path, service = "/dags/pricing/structure?namespace=default", Service(server.url)
    server.answers[path] = (422, {"detail": "a cycle"})
    with pytest.raises(RejectedError):
        structure.send_changed(service, "default", dag(a={"a"}), tmp_path)
    assert not structure.send_changed(service, "default", dag(a={"a"}), tmp_path)


def test_a_forecast_is_stored(server: ScriptedServer) -> None:
    path, default = "/dags/pricing/forecast?namespace=default", timedelta(hours=6)
    assert run_times.deadline_interval("pricing", default) == default, "the default must replace an unknown forecast"
    server.answers[path] = (200, {"p95_seconds": 5400})
    assert run_times.deadline_interval("pricing", default) == default, "an unknown forecast must be stored, too"
    assert run_times.deadline_interval("pricing", default, namespace="emea") == default
    server.answers["/dags/sales/forecast?namespace=default"] = (200, {"p95_seconds": 5400})
    for _ in range(3):
        assert run_times.deadline_interval("sales", default) == timedelta(minutes=90)
    assert len(server.bodies_of("/dags/sales/forecast?namespace=default")) == 1


def test_a_forecast_is_of_the_namespace_of_the_connection(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, server.port, extra={"namespace": "emea"})
    server.answers["/dags/pricing/forecast?namespace=emea"] = (200, {"p95_seconds": 5400})
    assert run_times.deadline_interval("pricing", timedelta(hours=6)) == timedelta(minutes=90)


def test_a_deadline_needs_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_times.deadline_interval("pricing", timedelta(hours=1)) == timedelta(hours=1)
    monkeypatch.setenv("LOADAWARE_DISABLED", "1")
    assert run_times.deadline_interval("pricing", timedelta(hours=1)) == timedelta(hours=1)
