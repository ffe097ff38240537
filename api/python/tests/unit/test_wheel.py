"""What the distribution says of itself to those who install it."""

from __future__ import annotations

import re
from importlib.metadata import distribution, metadata, requires
from pathlib import Path

NAME = "airflow-provider-loadaware"
HERE = Path(__file__).parents[2]


def test_without_the_extra_only_the_client_is_provided_for() -> None:
    needed = {re.split("[<>=]", r)[0] for r in requires(NAME) or () if "extra ==" not in r}
    assert needed == {"attrs", "httpx", "python-dateutil"}


def test_the_licence_is_in_it() -> None:
    assert metadata(NAME)["License-File"] == "LICENSE"
    assert (HERE / "LICENSE").read_bytes() == (HERE.parents[1] / "LICENSE").read_bytes()


def test_airflow_finds_what_it_looks_for() -> None:
    found = {e.group: e.value for e in distribution(NAME).entry_points}
    assert found == {
        "apache_airflow_provider": "airflow_provider_loadaware:get_provider_info",
        "airflow.policy": "airflow_provider_loadaware.policy",
        "airflow.plugins": "airflow_provider_loadaware.plugin:LoadawarePlugin",
    }
