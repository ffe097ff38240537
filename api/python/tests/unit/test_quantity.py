"""Tests of the conversion between quantities and numbers."""

from __future__ import annotations

import pytest

from airflow_provider_loadaware.quantity import display_bytes, format_bytes, parse_bytes, parse_cores


@pytest.mark.parametrize(
    ("text", "count"),
    [("350Gi", 375809638400), ("1500M", 1500000000), ("1e3", 1000), ("1E", 10**18), ("0.5Ki", 512), (7, 7), ("1m", 1)],
)
def test_parse_bytes(text: object, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(("text", "cores"), [("250m", 0.25), ("6", 6.0), (1.5, 1.5), ("100u", 0.0001)])
def test_parse_cores(text: object, cores: float) -> None:
    assert parse_cores(text) == pytest.approx(cores)


@pytest.mark.parametrize(
    "text", ["", "lots", "-1Gi", "1GiB", "1 Gi", None, True, [], "9" * 99, "{{ x }}", float("nan")]
)
def test_other_values_are_rejected(text: object) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_bytes(text)


@pytest.mark.parametrize("count", [1, 1023, 1 << 10, 3 << 29, 14949548032, 375809638400, (1 << 40) + 1])
def test_format_and_parse_round_trip(count: int) -> None:
    assert parse_bytes(format_bytes(count)) == count


def test_display_bytes_rounds_to_three_digits() -> None:
    assert [display_bytes(n) for n in (10 << 30, 13571719168, 512 << 20, 9)] == ["10Gi", "12.6Gi", "512Mi", "9 bytes"]
