"""Tests of the dashboard's views in Airflow."""

import pytest

from airflow_provider_loadaware.plugin import LoadawarePlugin, views


def test_without_an_address_airflow_shows_no_view() -> None:
    assert LoadawarePlugin.external_views == []
    assert views("javascript:alert(1)", "default") == []


def test_airflow_shows_the_overview_and_the_try() -> None:
    overview, memory = views("https://example.org/sizing/", "emea&x")
    assert (overview["href"], overview["destination"]) == ("https://example.org/sizing/ui/", "nav")
    assert memory["destination"] == "task_instance"
    assert memory["href"].startswith("https://example.org/sizing/ui/try?namespace=emea%26x&dag_id={DAG_ID}&")


def test_airflow_accepts_the_views() -> None:
    module = "airflow.api_fastapi.core_api.datamodels.plugins"
    responses = pytest.importorskip(module, reason="Airflow 2 has no external views")
    for view in views("https://example.org", "default"):
        assert responses.ExternalViewResponse.model_validate(view).href == view["href"]
