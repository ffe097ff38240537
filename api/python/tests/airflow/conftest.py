"""Shared fixtures of the Airflow tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_kubernetes import Cluster, serve, write_kubeconfig
from harness.environment import Environment, folder
from harness.environment import environment as build


def pytest_configure() -> None:
    """Handle SIGTERM like Ctrl-C, so that fixtures stop their processes."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def kubeconfig(cluster: Cluster) -> Iterator[Path]:
    with folder() as path, serve(cluster) as url:
        yield write_kubeconfig(path / "kubeconfig.json", url)


@pytest.fixture(scope="session")
def environment() -> Iterator[Environment]:
    """A complete deployment in which the runs of FIRST_RUNS have started."""
    with build() as built:
        yield built
