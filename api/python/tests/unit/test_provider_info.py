"""Tests of the metadata that Airflow's registry and UI read; make dist-play runs them against the wheel."""

from __future__ import annotations

import importlib
import importlib.resources
import json
from importlib.metadata import distribution
from typing import Any

import pytest

NAME = "airflow-provider-loadaware"
AIRFLOW = int(distribution("apache-airflow").version.partition(".")[0])


@pytest.fixture(scope="module")
def manager() -> Any:
    from airflow.providers_manager import ProvidersManager

    return ProvidersManager()


@pytest.fixture(scope="module")
def info() -> dict[str, Any]:
    (entry,) = (e for e in distribution(NAME).entry_points if e.group == "apache_airflow_provider")
    return entry.load()()


def load(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_the_information_satisfies_the_schema_of_airflow(info: dict[str, Any]) -> None:
    import jsonschema

    schema = json.loads((importlib.resources.files("airflow") / "provider_info.schema.json").read_text())
    jsonschema.validate(info, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**info, "extra-links": "one"}, schema)


def test_airflow_lists_the_provider(manager: Any, info: dict[str, Any]) -> None:
    assert manager.providers[NAME].version == distribution(NAME).version == info["versions"][0]


def test_airflow_shows_the_connection_form(manager: Any, info: dict[str, Any]) -> None:
    hook = manager.hooks["loadaware"]
    assert hook is not None and hook.connection_testable  # None if Airflow cannot import the class
    (connection,) = info["connection-types"]
    assert (hook.hook_name, hook.hook_class_name) == (connection["hook-name"], connection["hook-class-name"])
    assert manager.field_behaviours["loadaware"]["relabeling"] == connection["ui-field-behaviour"]["relabeling"]
    if AIRFLOW >= 3:  # Airflow 2 shows the extra fields as JSON
        fields = {f"extra__loadaware__{name}" for name in connection["conn-fields"]}
        assert fields <= set(manager.connection_form_widgets)


def test_airflow_registers_links_and_decorators(manager: Any, info: dict[str, Any]) -> None:
    for link in info["extra-links"]:
        assert link in manager.extra_links_class_names
        load(link)
    decorators = {name for name, _ in manager.taskflow_decorators.items()}
    for decorator in info["task-decorators"]:
        assert decorator["name"] in decorators
        load(decorator["class-name"])
