"""Tests of the parser for times of the server."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from airflow_provider_loadaware.campaign_branches import read_time


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-11-23T07:00:05Z", 0),
        ("2026-11-23T07:00:05.1Z", 100_000),
        ("2026-11-23T07:00:05.12345Z", 123_450),
        ("2026-11-23T07:00:05.123456Z", 123_456),
        ("2026-11-23T07:00:05.123456789Z", 123_456),
        ("2026-11-23T08:00:05.12+01:00", 120_000),
    ],
)
def test_times_of_the_server_are_parsed(text: str, microsecond: int) -> None:
    assert read_time(text) == datetime(2026, 11, 23, 7, 0, 5, microsecond, tzinfo=timezone.utc)
