"""What the tests of Airflow share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_kubernetes import Cluster, serve, write_kubeconfig


@pytest.fixture
def cluster() -> Cluster:
    """A fake Kubernetes without pods."""
    return Cluster()


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Iterator[Path]:
    """The file by which `cluster` is found while the test lasts."""
    with serve(cluster) as url:
        yield write_kubeconfig(tmp_path / "kubeconfig.json", url)
