"""Tests of the peak sources."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_loadaware.peak import Peak, measure

GIB = 1 << 30


@pytest.mark.parametrize(
    ("message", "want"),
    [
        ('{"memory_max_bytes": 1073741824, "cpu_max_cores": 1.5}', Peak(GIB, 1.5)),
        ('{"memory_max": "1Gi"}', Peak(GIB)),
        ("1073741824", Peak(GIB)),
        ('no such product\n{"memory_max_bytes": 1073741824, "exit_code": 1}\n', Peak(GIB)),
        ('{"memory_max_bytes": 1}\n{"memory_max_bytes": 1073741824}', Peak(GIB)),
        ("no such product\n1073741824", Peak()),
        ("done", Peak()),
        ("", Peak()),
        (None, Peak()),
        ("[1]", Peak()),
        ('{"memory_max_bytes": -1}', Peak()),
        ('{"memory_max_bytes": 1e300}', Peak()),
        ('{"memory_max_bytes": true, "cpu_max_cores": "NaN"}', Peak()),
    ],
)
def test_the_termination_message_is_read(message: str | None, want: Peak) -> None:
    assert measure(None, None, message, {}) == want


def series(text: str) -> Any:
    return measure(None, None, '{"memory_max_bytes": 1073741824, "series": ' + text + "}", {}).series


def test_a_series_of_loadaware_peak_is_forwarded_in_bytes() -> None:
    result = series('{"step_seconds": 0.8, "memory_mib": [0, 3, 1024], "cpu_cores": [0.98, 1, 0.97]}')
    assert result == {"step_seconds": 0.8, "memory_bytes": [0, 3 << 20, GIB], "cpu_cores": [0.98, 1, 0.97]}


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "[1]",
        "{}",
        '{"step_seconds": 1, "memory_mib": []}',
        '{"step_seconds": 1, "memory_mib": [' + "1," * 120 + "1]}",
        '{"step_seconds": 1, "memory_mib": [1, null]}',
        '{"step_seconds": 1, "memory_mib": [1.5]}',
        '{"step_seconds": 1, "memory_mib": [true]}',
        '{"step_seconds": 1, "memory_mib": [-1]}',
        '{"step_seconds": 1, "memory_mib": [1e300]}',
        '{"step_seconds": 0, "memory_mib": [1]}',
        '{"step_seconds": "1", "memory_mib": [1]}',
        '{"step_seconds": NaN, "memory_mib": [1]}',
        '{"step_seconds": 1e300, "memory_mib": [1]}',
        '{"memory_mib": [1]}',
    ],
)
def test_an_invalid_series_is_dropped(text: str) -> None:
    assert series(text) is None


@pytest.mark.parametrize("cpu", ["null", "[1]", '["1", 1]', "[NaN, 1]", "[-1, 1]", "[1e300, 1]"])
def test_invalid_cores_do_not_drop_the_memory(cpu: str) -> None:
    result = series('{"step_seconds": 1, "memory_mib": [1, 2], "cpu_cores": ' + cpu + "}")
    assert result == {"step_seconds": 1, "memory_bytes": [1 << 20, 2 << 20]}


def test_a_callable_is_called() -> None:
    assert measure(lambda pod, context: context["peak"], None, None, {"peak": "7Gi"}) == Peak(7 * GIB)
    assert measure(lambda pod, context: None, None, None, {}) == Peak()


def test_the_source_none_measures_nothing() -> None:
    assert measure("none", None, "1073741824", {}) == Peak()


def test_exceptions_of_a_callable_propagate() -> None:
    def broken(pod: Any, context: Any) -> Any:
        raise KeyError("no such metric")

    with pytest.raises(KeyError):
        measure(broken, None, None, {})
