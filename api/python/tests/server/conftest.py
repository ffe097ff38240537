"""Runs the real server with a private PostgreSQL in a temporary folder. `make build` builds the binary."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_loadaware import service

BINARY = Path(os.environ.get("LOADAWARE_BIN") or Path(__file__).parents[4] / "bin" / "loadaware")
START_SECONDS = 60.0
TOKEN = "a-token-of-the-tests"
PREDICT_TOKEN = "a-token-with-the-role-predict"


@pytest.fixture(autouse=True)
def long_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extend the timeouts for a busy machine; these tests do not test them."""
    monkeypatch.setattr(service, "TOTAL_SECONDS", START_SECONDS)
    monkeypatch.setattr(service, "CONNECT_SECONDS", START_SECONDS)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a server that accepts TOKEN with the role admin, and PREDICT_TOKEN with the role predict."""
    if not BINARY.exists():
        pytest.fail(f"{BINARY} does not exist; run make build, or set LOADAWARE_BIN")
    with tempfile.TemporaryDirectory(prefix="loadaware-server-") as name:
        work = Path(name)
        work.chmod(0o755)  # PostgreSQL started by root runs as another user
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOADAWARE_") and k != "DATABASE_URL"}
        arguments = ["serve", "--addr", "127.0.0.1:0", "--admin-addr", "", "--data", str(work / "data")]
        with (work / "log").open("wb") as log:
            server = subprocess.Popen(
                [str(BINARY), *arguments, "--tokens", f"admin:{_hash(TOKEN)},predict:{_hash(PREDICT_TOKEN)}"],
                stdout=log,
                stderr=log,
                env=environment,
            )
        try:
            yield _address(server, work / "log")
        finally:
            server.terminate()
            server.wait(START_SECONDS)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        found = re.search(r"serves at (http://\S+)", log.read_text(errors="replace"))
        if found:
            return found.group(1)
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text(errors='replace')}")
