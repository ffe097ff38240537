"""What the tests of Airflow share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_kubernetes import Cluster, serve, write_kubeconfig
from harness.world import World, folder
from harness.world import world as build


def pytest_configure() -> None:
    """A request to end is taken as Ctrl-C is: what was started is stopped first."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture
def cluster() -> Cluster:
    """A fake Kubernetes without pods."""
    return Cluster()


@pytest.fixture
def kubeconfig(cluster: Cluster) -> Iterator[Path]:
    """The file by which `cluster` is found while the test lasts."""
    with folder() as path, serve(cluster) as url:
        yield write_kubeconfig(path / "kubeconfig.json", url)


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """A whole deployment, in which the first run of every DAG has begun."""
    with build() as built:
        yield built
