"""Tests of the import: two commands fill an empty server from Airflow's history, and a model predicts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow_provider_loadaware import features

from harness.environment import folder
from harness.history import PASSWORD, serve_history
from harness.loadaware import REPOSITORY, Loadaware
from scenarios import HISTORY_DAG, history_runs

RUNS = 240
PARAMS = {"rows": 500, "region": "emea", "full": False, "api_key": "never sent"}
GIB = 2**30
TIMES = "\u00d7"  # separates a count from its reason


@dataclass(frozen=True)
class HistoryEnvironment:
    """An Airflow with finished runs, usage samples of its pods, and an empty server."""

    airflow: str
    logs: Path
    loadaware: Loadaware

    def command(self, *arguments: str) -> str:
        env = {k: v for k, v in os.environ.items() if not k.startswith("LOADAWARE_")}
        env["LOADAWARE_AIRFLOW_PASSWORD"] = PASSWORD
        program = str(REPOSITORY / "bin" / "loadaware")
        result = subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
        assert PASSWORD not in result.stdout + result.stderr
        return result.stdout

    def import_airflow(self, *options: str) -> str:
        target = ["--url", self.airflow, "--user", "reader", "--into", self.loadaware.url, "--rate", "100"]
        return self.command("import", "airflow", *target, *options)


def write_samples(logs: Path) -> int:
    """Write a sample file for each try of `work`, except in every 30th run. Returns the number of files."""
    files = 0
    for run in history_runs(RUNS):
        for number in range(1, len(run.states) + 1 if run.number % 30 else 0):
            file = logs / f"dag_id={HISTORY_DAG}" / f"run_id={run.run_id}" / "task_id=work" / f"attempt={number}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            samples = [f"{1740000000 + 5 * i},{run.need // (1 if i == 6 else 3)},0.9" for i in range(10)]
            file.write_text("\n".join(["timestamp,memory_bytes,cpu_cores", *samples]))
            files += 1
    return files


@pytest.fixture(scope="module")
def history() -> Iterator[HistoryEnvironment]:
    with folder() as path, serve_history(path, RUNS) as airflow:
        server = Loadaware(path, background_training=False)  # otherwise a training may start during an import
        try:
            yield HistoryEnvironment(airflow, path / "logs", server)
        finally:
            server.stop()


def sent_features(conf: dict[str, Any]) -> dict[str, Any]:
    declared = {**PARAMS, "depth": 2}
    context = {
        "dag": SimpleNamespace(params=PARAMS),
        "task": SimpleNamespace(params=declared),
        "params": {**declared, **conf},
        "dag_run": SimpleNamespace(conf=conf),
    }
    return dict(features.of_context(context, []))


def test_two_commands_import_the_history_into_an_empty_server(history: HistoryEnvironment) -> None:
    files = write_samples(history.logs)
    tries = sum(len(run.states) for run in history_runs(RUNS))
    failed = sum(run.states.count("failed") for run in history_runs(RUNS) if run.number % 30)

    output = history.import_airflow()
    assert f"{tries + 2 * RUNS} tries read: {tries + 2 * RUNS} new, 0 already there, 0 amended, 0 rejected" in output
    assert f"{RUNS} {TIMES} skipped: EmptyOperator launches no pod" in output
    output = history.command("import", "usage-log", "--url", history.loadaware.url, "--train", str(history.logs))
    assert f"{files} tries read: 0 new, 0 already there, {files - failed} amended, 0 rejected" in output
    assert f"{failed} {TIMES} skipped: an earlier report has another outcome than success" in output
    assert "history/work: model 1" in output

    request = {"dag_id": HISTORY_DAG, "task_id": "work", "requested": {"memory": "8Gi"}}
    small = history.loadaware.post("/predict", {**request, "features": sent_features({"rows": 150, "note": "x"})})
    large = history.loadaware.post("/predict", {**request, "features": sent_features({"rows": 800})})
    assert (small["source"], large["source"]) == ("model", "model")
    assert "rows" in small["reason"]
    assert 300 * 2**20 <= small["memory"]["request_bytes"] < GIB
    assert 1600 * 2**20 * 0.97 <= large["memory"]["request_bytes"] < 4 * GIB


def test_one_command_reads_tries_and_usage_and_lists_tries_without_usage(history: HistoryEnvironment) -> None:
    output = history.import_airflow("--usage-log", str(history.logs), "--feature-keys", "no*")
    tries = sum(len(run.states) for run in history_runs(RUNS))
    assert f"{tries + 2 * RUNS} tries read: 0 new" in output
    assert "0 rejected" in output
    without = sum(len(run.states) for run in history_runs(RUNS) if run.number % 30 == 0)
    assert f"{without + 2 * RUNS} {TIMES} without usage: no file has the try" in output


def test_an_import_continues_at_the_newest_run(history: HistoryEnvironment) -> None:
    output = history.import_airflow("--dry-run")
    newest = output.split("the last run ended at ")[1].split("; continue")[0]
    assert "1 run;" in history.import_airflow("--since", newest)
    assert "0 runs" in history.import_airflow("--dag", "another")
