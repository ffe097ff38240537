"""Tests of the grant from a prediction, the bounds and an earlier kill of the run."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_loadaware.grant import (
    Bounds,
    Grant,
    InvalidAnswerError,
    Kill,
    Static,
    after_kill,
    from_prediction,
)
from loadaware_client.models.prediction import Prediction

from .conftest import prediction

GIB = 1 << 30
STATIC = Static(memory_request=350 * GIB, memory_limit=350 * GIB, cpu_request=6.0)


def decide(answer: dict[str, Any], bounds: Bounds | None = None, kill: Kill | None = None) -> Grant | None:
    return from_prediction(Prediction.from_dict(answer), bounds or Bounds(), kill, STATIC)


def test_a_prediction_is_granted() -> None:
    given = decide(prediction(10 * GIB))
    assert given is not None
    assert (given.memory_request, given.memory_limit, given.cpu_request) == (10 * GIB, 10 * GIB, 1.5)


@pytest.mark.parametrize(
    "change", [{"mode": "shadow"}, {"mode": "off"}, {"source": "requested"}, {"memory": None}], ids=str
)
def test_the_static_request_stays_in_force(change: dict[str, Any]) -> None:
    assert decide(prediction(10 * GIB, **change)) is None


@pytest.mark.parametrize(
    "memory",
    [
        "10Gi",
        {},
        {"request_bytes": "10Gi", "limit_bytes": 1, "request": "", "limit": ""},
        {"request_bytes": 1, "limit_bytes": 1, "request": "", "limit": ""},
        {"request_bytes": -GIB, "limit_bytes": -GIB, "request": "", "limit": ""},
        {"request_bytes": 1 << 60, "limit_bytes": 1 << 60, "request": "", "limit": ""},
        {"request_bytes": True, "limit_bytes": True, "request": "", "limit": ""},
        {"request_bytes": 1e10, "limit_bytes": 1e10, "request": "", "limit": ""},
    ],
    ids=str,
)
def test_invalid_memory_is_rejected(memory: Any) -> None:
    with pytest.raises(InvalidAnswerError):
        decide(prediction(GIB, memory=memory))


@pytest.mark.parametrize("cores", [-1, 0, float("inf"), "2", 1e9], ids=str)
def test_invalid_cpu_is_rejected(cores: Any) -> None:
    with pytest.raises(InvalidAnswerError):
        decide(prediction(GIB, cpu={"request_cores": cores, "request": "?"}))


@pytest.mark.parametrize(
    ("answer", "minimum", "maximum", "want"),
    [(1, 2, 4, 2), (3, 2, 4, 3), (9, 2, 4, 4), (1, 2, None, 2), (3, 2, None, 3), (9, None, 4, 4), (1, None, 4, 1)],
)
def test_local_bounds_apply(answer: int, minimum: int | None, maximum: int | None, want: int) -> None:
    given = decide(prediction(answer * GIB), Bounds(minimum and minimum * GIB, maximum and maximum * GIB))
    assert given is not None and given.memory_limit == want * GIB


def test_a_killed_allocation_is_doubled_and_a_larger_lift_is_granted() -> None:
    small = Static(memory_request=4 * GIB)
    answer = Prediction.from_dict(prediction(10 * GIB))
    given = from_prediction(answer, Bounds(), Kill(10 * GIB, 1), small)
    assert given is not None and given.memory_limit == 20 * GIB
    lifted = Prediction.from_dict(prediction(60 * GIB, source="lift"))
    given = from_prediction(lifted, Bounds(), Kill(10 * GIB, 1), small)
    assert given is not None and given.memory_limit == 60 * GIB


@pytest.mark.parametrize(
    ("claim", "source", "answer", "kill", "want"),
    [
        ("a lift equal to the killed allocation is granted, because a cap applies", "lift", 10, Kill(10 * GIB, 1), 10),
        ("the lift of the provider replaces a lift below the killed allocation", "lift", 9, Kill(10 * GIB, 1), 20),
        ("an amount that the server announced applies", "model", 10, Kill(10 * GIB, 1, 19 * GIB), 19),
        ("the killed allocation again if more does not help", "model", 10, Kill(10 * GIB, 1, 10 * GIB), 10),
        ("a lift that was killed is not repeated", "lift", 10, Kill(10 * GIB, 1, unreported=True), 20),
        ("an unreported kill gets at least the provider's lift", "lift", 11, Kill(10 * GIB, 1, unreported=True), 20),
        ("an answer above the provider's lift applies", "lift", 21, Kill(10 * GIB, 1, unreported=True), 21),
    ],
)
def test_a_prediction_after_a_kill_is_granted_or_replaced(
    claim: str, source: str, answer: int, kill: Kill, want: int
) -> None:
    predicted = Prediction.from_dict(prediction(answer * GIB, source=source))
    given = from_prediction(predicted, Bounds(), kill, Static(memory_request=4 * GIB))
    assert given is not None and given.memory_limit == want * GIB, claim


def test_a_kill_does_not_end_shadow_mode() -> None:
    assert decide(prediction(10 * GIB, mode="shadow"), kill=Kill(10 * GIB, 1)) is None


@pytest.mark.parametrize(
    ("claim", "kill", "bounds", "static", "want"),
    [
        ("twice the killed allocation", Kill(10 * GIB, 1), Bounds(), Static(8 * GIB), 20),
        ("at most the upper bound", Kill(30 * GIB, 1), Bounds(None, 40 * GIB), Static(8 * GIB), 40),
        ("the announced amount", Kill(10 * GIB, 1, 13 * GIB), Bounds(), Static(8 * GIB), 13),
        ("at least the static request", Kill(10 * GIB, 1), Bounds(), STATIC, 350),
        ("twice the killed allocation, without any request", Kill(10 * GIB, 1), Bounds(), Static(), 20),
        ("at least the static grant of a plan", Kill(GIB, 1, static_bytes=9 * GIB), Bounds(), Static(2 * GIB), 9),
    ],
)
def test_a_kill_is_lifted_without_the_server(claim: str, kill: Kill, bounds: Bounds, static: Static, want: int) -> None:
    assert after_kill(kill, bounds, static).memory_limit == want * GIB, claim
