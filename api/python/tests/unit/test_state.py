"""Files that processes share: whatever is in them, nothing breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_loadaware import breaker, state
from airflow_provider_loadaware.grant import Kill
from airflow_provider_loadaware.memory import MOST_REPORTS, Kills, Spool
from airflow_provider_loadaware.tries import Try

TRY = Try("default", "pricing", "predict_demand", "run-1", 4, 2)
GARBAGE = [b"", b"\xff\xfe", b"{", b"[]", b"null", b'{"failures": "x"}', b"[" * 100000, b"x" * (1 << 20)]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_circuit_opens_after_three_failures_and_rests_half_a_minute(tmp_path: Path) -> None:
    clock = Clock()
    # A breaker each, since each try is a process of its own.
    for want in (False, False, True):
        breaker.Breaker(tmp_path / "b.json", clock).failed()
        assert breaker.Breaker(tmp_path / "b.json", clock).is_open() is want
    clock.now += breaker.OPEN_SECONDS
    assert not breaker.Breaker(tmp_path / "b.json", clock).is_open()
    breaker.Breaker(tmp_path / "b.json", clock).failed()
    assert breaker.Breaker(tmp_path / "b.json", clock).is_open(), "one more failure opens it again"


def test_an_answer_closes_the_circuit(tmp_path: Path) -> None:
    clock = Clock()
    one = breaker.Breaker(tmp_path / "b.json", clock)
    for _ in range(breaker.FAILURES):
        one.failed()
    clock.now += breaker.OPEN_SECONDS
    one.succeeded()
    one.failed()
    assert not one.is_open()


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_neither_opens_the_circuit_nor_breaks_it(tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / "b.json").write_bytes(garbage)
    one = breaker.Breaker(tmp_path / "b.json")
    assert not one.is_open()
    for _ in range(breaker.FAILURES):
        one.failed()
    assert one.is_open()


def test_a_clock_that_was_set_back_does_not_silence_for_long(tmp_path: Path) -> None:
    state.write_json(tmp_path / "b.json", {"failures": 3, "open_until": 1e12})
    assert not breaker.Breaker(tmp_path / "b.json").is_open()


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_in_the_spool_is_dropped(tmp_path: Path, garbage: bytes) -> None:
    spool = Spool(tmp_path)
    spool.keep(TRY, {"outcome": "success"})
    (tmp_path / "reports" / "x.json").write_bytes(garbage)
    assert spool.waiting(10) == {TRY.key: {"outcome": "success"}}


def test_a_try_waits_once_and_the_spool_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path)
    assert spool.keep(TRY, {"n": 1}) and spool.keep(TRY, {"n": 2})
    assert spool.waiting(10) == {TRY.key: {"n": 2}}
    monkeypatch.setattr(spool._shelf, "_limit", 3)
    for n in range(10):
        spool.keep(Try("default", "d", "t", "r", n), {"n": n})
    assert [r["n"] for r in spool.waiting(10).values()] == [7, 8, 9]
    assert MOST_REPORTS == 1000


def test_reports_of_one_run_are_found(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.keep(Try("default", "d", "t", "another"), {"n": 0})
    spool.keep(TRY, {"n": 1})
    assert spool.waiting(1, TRY.run_key) == {TRY.key: {"n": 1}}


def test_a_kill_is_known_to_the_next_try_and_to_no_other_run(tmp_path: Path) -> None:
    Kills(tmp_path).remember(TRY, Kill(100, 2, 200), {})
    third = Try("default", "pricing", "predict_demand", "run-1", 4, 3)
    assert Kills(tmp_path).recall(third, {}) == Kill(100, 2, 200)
    assert Kills(tmp_path).recall(TRY, {}) is None, "not to the try itself"
    assert Kills(tmp_path).recall(Try("default", "pricing", "predict_demand", "run-1", 5, 3), {}) is None


def test_a_kill_is_found_in_airflows_task_state_on_another_machine(tmp_path: Path) -> None:
    class Store(dict[str, Any]):
        def set(self, key: str, value: Any) -> None:
            self[key] = value

    store = Store()
    Kills(tmp_path / "a").remember(TRY, Kill(100, 2), {"task_state_store": store})
    third = Try("default", "pricing", "predict_demand", "run-1", 4, 3)
    assert Kills(tmp_path / "b").recall(third, {"task_state_store": store}) == Kill(100, 2)


def test_without_a_folder_nothing_is_kept_and_nothing_breaks() -> None:
    assert not Spool(None).keep(TRY, {})
    assert Spool(None).waiting(10) == {}
    one = breaker.Breaker(None)
    one.failed()
    assert not one.is_open()


def test_a_folder_that_cannot_be_made_falls_back(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = state.open_folder(tmp_path / "file" / "below")
    assert folder is not None and folder.name.startswith("loadaware-")
