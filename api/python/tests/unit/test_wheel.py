"""Tests of the metadata of the distribution."""

from __future__ import annotations

import re
import runpy
import shutil
from importlib.metadata import distribution, metadata, requires
from pathlib import Path

import pytest

import airflow_provider_loadaware

NAME = "airflow-provider-loadaware"
PROJECT = Path(__file__).parents[2]


def test_without_the_extra_the_requirements_are_those_of_the_client() -> None:
    needed = {re.split("[<>=]", r)[0] for r in requires(NAME) or () if "extra ==" not in r}
    assert needed == {"attrs", "httpx", "python-dateutil"}


def test_the_licence_is_included() -> None:
    assert metadata(NAME)["License-File"] == "LICENSE"
    assert (PROJECT / "LICENSE").read_bytes() == (PROJECT.parents[1] / "LICENSE").read_bytes()


def test_the_entry_points_of_airflow() -> None:
    found = {e.group: e.value for e in distribution(NAME).entry_points}
    assert found == {
        "apache_airflow_provider": "airflow_provider_loadaware:get_provider_info",
        "airflow.policy": "airflow_provider_loadaware.policy",
        "airflow.plugins": "airflow_provider_loadaware.plugin:LoadawarePlugin",
    }


def test_the_provider_has_the_version_of_the_distribution() -> None:
    assert airflow_provider_loadaware.__version__ == distribution(NAME).version
    assert airflow_provider_loadaware.get_provider_info()["versions"] == [distribution(NAME).version]


def test_a_copy_without_the_repository_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"version is unknown, because scripts/dist/version\.sh is missing"):
        runpy.run_path(shutil.copy(PROJECT / "version.py", tmp_path))


def test_a_failure_of_the_script_is_shown(tmp_path: Path) -> None:
    project, script = tmp_path / "api/python", tmp_path / "scripts/dist/version.sh"
    project.mkdir(parents=True)
    script.parent.mkdir(parents=True)
    script.write_text("echo 'the tag differs' >&2; exit 1")
    with pytest.raises(RuntimeError, match="the version is unknown: the tag differs"):
        runpy.run_path(shutil.copy(PROJECT / "version.py", project))


def test_the_description_has_no_relative_links() -> None:
    described = metadata(NAME)
    links = re.findall(r"\]\(([^)]+)\)", described["Description"] or str(described.get_payload()))
    assert len(links) > 3
    assert [link for link in links if not link.startswith("https://")] == []
