"""Tests of the dashboard's views in Airflow."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from airflow_provider_loadaware import plugin
from airflow_provider_loadaware.plugin import LoadawarePlugin, views

from .conftest import connect


def test_without_a_valid_address_airflow_shows_no_view() -> None:
    assert LoadawarePlugin.external_views == []
    assert views("javascript:alert(1)", "default") == []


def test_airflow_shows_the_overview_and_the_try() -> None:
    overview, memory = views("https://example.org/sizing/", "emea&x")
    assert (overview["href"], overview["destination"]) == ("https://example.org/sizing/ui/", "nav")
    assert memory["destination"] == "task_instance"
    assert memory["href"].startswith("https://example.org/sizing/ui/try?namespace=emea%26x&dag_id={DAG_ID}&")


@pytest.mark.parametrize(
    ("setting", "extra", "want"),
    [
        ("", {"namespace": "emea"}, "emea"),
        ("apac", {"namespace": "emea"}, "apac"),
        ("", {}, "default"),
        ("", None, "default"),
    ],
    ids=["connection", "setting", "neither", "no connection"],
)
def test_the_views_show_the_namespace_of_the_tasks(
    monkeypatch: pytest.MonkeyPatch, setting: str, extra: dict[str, Any] | None, want: str
) -> None:
    monkeypatch.setenv("AIRFLOW__LOADAWARE__UI_URL", "https://example.org")
    monkeypatch.setenv("AIRFLOW__LOADAWARE__NAMESPACE", setting)
    if extra is not None:
        connect(monkeypatch, 1, extra=extra)
    loaded = importlib.reload(plugin).LoadawarePlugin
    assert f"?namespace={want}&" in loaded.external_views[1]["href"]


def test_the_views_use_a_connection_that_is_added_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__LOADAWARE__UI_URL", "https://example.org")
    loaded = importlib.reload(plugin).LoadawarePlugin
    assert "?namespace=default&" in loaded.external_views[1]["href"]
    connect(monkeypatch, 1, extra={"namespace": "emea"})
    assert "?namespace=emea&" in loaded.external_views[1]["href"]
    same = loaded.external_views is loaded().external_views
    assert same, "the list must stay the same object, because Airflow removes conflicting views from it"


def test_airflow_accepts_the_views() -> None:
    module = "airflow.api_fastapi.core_api.datamodels.plugins"
    responses = pytest.importorskip(module, reason="Airflow 2 has no external views")
    for view in views("https://example.org", "default"):
        assert responses.ExternalViewResponse.model_validate(view).href == view["href"]
