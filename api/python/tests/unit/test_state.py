"""Tests of the files that processes share: circuit breakers, pending reports and OOM kills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_loadaware import breaker, state
from airflow_provider_loadaware.grant import Kill
from airflow_provider_loadaware.spool import MAX_REPORTS, Kills, Spool
from airflow_provider_loadaware.tries import Try

TRY = Try("default", "pricing", "predict_demand", "run-1", 4, 2)
GARBAGE = [b"", b"\xff\xfe", b"{", b"[]", b"null", b'{"failures": "x"}', b"[" * 100000, b"x" * (1 << 20)]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_circuit_opens_after_three_failures_until_open_seconds_have_passed(tmp_path: Path) -> None:
    clock = Clock()
    # A new breaker each time, because each try runs in its own process.
    for want in (False, False, True):
        breaker.Breaker(tmp_path / "b.json", clock).record_failure()
        assert breaker.Breaker(tmp_path / "b.json", clock).is_open() is want
    clock.now += breaker.OPEN_SECONDS
    assert not breaker.Breaker(tmp_path / "b.json", clock).is_open()
    breaker.Breaker(tmp_path / "b.json", clock).record_failure()
    assert breaker.Breaker(tmp_path / "b.json", clock).is_open(), "one more failure did not open it again"


def test_an_answer_closes_the_circuit(tmp_path: Path) -> None:
    clock = Clock()
    circuit = breaker.Breaker(tmp_path / "b.json", clock)
    for _ in range(breaker.FAILURES):
        circuit.record_failure()
    clock.now += breaker.OPEN_SECONDS
    circuit.record_success()
    circuit.record_failure()
    assert not circuit.is_open()


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_with_a_corrupt_file_the_circuit_is_closed_and_opens_after_failures(tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / "b.json").write_bytes(garbage)
    circuit = breaker.Breaker(tmp_path / "b.json")
    assert not circuit.is_open()
    for _ in range(breaker.FAILURES):
        circuit.record_failure()
    assert circuit.is_open()


def test_a_clock_set_back_does_not_block_for_long(tmp_path: Path) -> None:
    state.write_json(tmp_path / "b.json", {"failures": 3, "open_until": 1e12})
    assert not breaker.Breaker(tmp_path / "b.json").is_open()


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_corrupt_reports_are_dropped(tmp_path: Path, garbage: bytes) -> None:
    spool = Spool(tmp_path)
    spool.add(TRY, {"outcome": "success"})
    (tmp_path / "reports" / "x.json").write_bytes(garbage)
    assert spool.pending(10) == {TRY.key: {"outcome": "success"}}


@pytest.mark.parametrize("run_key", [None, TRY.run_key])
def test_files_without_a_report_do_not_hide_reports(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, run_key: str | None
) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "x.json").write_text('{"run": "r", "report": null}')
    spool = Spool(tmp_path)
    spool.add(TRY, {"n": 1})
    spool.pending(1, run_key)
    assert spool.pending(1) == {TRY.key: {"n": 1}}
    assert "pending report x" in caplog.text


def test_the_spool_stores_one_report_per_try_and_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path)
    assert spool.add(TRY, {"n": 1}) and spool.add(TRY, {"n": 2})
    assert spool.pending(10) == {TRY.key: {"n": 2}}
    monkeypatch.setattr(spool._store, "_limit", 3)
    for n in range(10):
        spool.add(Try("default", "d", "t", "r", n), {"n": n})
    assert [r["n"] for r in spool.pending(10).values()] == [7, 8, 9]
    assert MAX_REPORTS == 1000


def test_reports_of_one_run_are_found(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add(Try("default", "d", "t", "another"), {"n": 0})
    spool.add(TRY, {"n": 1})
    assert spool.pending(1, TRY.run_key) == {TRY.key: {"n": 1}}


def test_only_later_tries_of_the_run_find_a_kill(tmp_path: Path) -> None:
    Kills(tmp_path).record(TRY, Kill(100, 2, 200), {})
    third = Try("default", "pricing", "predict_demand", "run-1", 4, 3)
    assert Kills(tmp_path).find(third, {}) == Kill(100, 2, 200)
    unreported = Kill(100, 2, unreported=True, static_bytes=900)
    Kills(tmp_path).record(TRY, unreported, {})
    assert Kills(tmp_path).find(third, {}) == unreported
    Kills(tmp_path).record(TRY, Kill(100, 2, 200), {})
    assert Kills(tmp_path).find(TRY, {}) is None, "the killed try found its own kill"
    assert Kills(tmp_path).find(Try("default", "pricing", "predict_demand", "run-1", 5, 3), {}) is None


class TaskState(dict[str, Any]):
    """Replaces Airflow's task state, which all machines share."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


def test_a_newer_kill_on_another_machine_replaces_an_older_one_on_this_machine(tmp_path: Path) -> None:
    shared = {"task_state_store": TaskState()}
    (tmp_path / "a").mkdir()
    Kills(tmp_path / "a").record(TRY, Kill(100, 2), shared)
    third = Try("default", "pricing", "predict_demand", "run-1", 4, 3)
    Kills(tmp_path / "b").record(third, Kill(200, 3), shared)
    fourth = Try("default", "pricing", "predict_demand", "run-1", 4, 4)
    assert Kills(tmp_path / "a").find(fourth, shared) == Kill(200, 3)
    assert Kills(tmp_path / "a").find(third, shared) == Kill(100, 2), "the third try found its own kill"


def test_a_kill_is_found_in_airflows_task_state_on_another_machine(tmp_path: Path) -> None:
    store = TaskState()
    Kills(tmp_path / "a").record(TRY, Kill(100, 2), {"task_state_store": store})
    third = Try("default", "pricing", "predict_demand", "run-1", 4, 3)
    assert Kills(tmp_path / "b").find(third, {"task_state_store": store}) == Kill(100, 2)


def test_without_a_folder_nothing_is_stored_and_nothing_fails() -> None:
    assert not Spool(None).add(TRY, {})
    assert Spool(None).pending(10) == {}
    circuit = breaker.Breaker(None)
    circuit.record_failure()
    assert not circuit.is_open()


def test_an_unusable_folder_falls_back(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = state.open_folder(tmp_path / "file" / "below")
    assert folder is not None and folder.name.startswith("loadaware-")
