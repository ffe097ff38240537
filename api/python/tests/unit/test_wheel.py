"""Tests of the metadata of the distribution."""

from __future__ import annotations

import re
from importlib.metadata import distribution, metadata, requires
from pathlib import Path

NAME = "airflow-provider-loadaware"
HERE = Path(__file__).parents[2]


def test_without_the_extra_only_the_client_requirements_are_installed() -> None:
    needed = {re.split("[<>=]", r)[0] for r in requires(NAME) or () if "extra ==" not in r}
    assert needed == {"attrs", "httpx", "python-dateutil"}


def test_the_licence_is_included() -> None:
    assert metadata(NAME)["License-File"] == "LICENSE"
    assert (HERE / "LICENSE").read_bytes() == (HERE.parents[1] / "LICENSE").read_bytes()


def test_the_entry_points_of_airflow() -> None:
    found = {e.group: e.value for e in distribution(NAME).entry_points}
    assert found == {
        "apache_airflow_provider": "airflow_provider_loadaware:get_provider_info",
        "airflow.policy": "airflow_provider_loadaware.policy",
        "airflow.plugins": "airflow_provider_loadaware.plugin:LoadawarePlugin",
    }
