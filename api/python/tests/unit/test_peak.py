"""Tests of the peak sources."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any

import pytest

from airflow_provider_loadaware.peak import Peak, measure

GIB = 1 << 30


def read(source: Any, message: str | None = None, context: Any = None) -> tuple[Peak, list[str]]:
    """Return the peak and the warnings."""
    warnings: list[str] = []
    return measure(source, None, message, context, warnings.append), warnings


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
        ('{"rows": 5}', Peak()),
        ("null", Peak()),
        ("0", Peak()),
        ('{"memory_max_bytes": null, "cpu_max_cores": 0}', Peak()),
        ('{"memory_max_bytes": "1Gi", "cpu_max_cores": "500m"}', Peak(GIB, 0.5)),
    ],
)
def test_the_termination_message_is_read(message: str | None, want: Peak) -> None:
    assert read(None, message) == (want, [])


@pytest.mark.parametrize(
    ("message", "warnings"),
    [
        ("[1]", ["peak of the memory: [1] is not a quantity"]),
        ('"7 GiB"', ["peak of the memory: '7 GiB' is not a quantity"]),
        ('{"memory_max_bytes": "7GB"}', ["peak of the memory: '7GB' is not a quantity"]),
        ('{"memory_max_bytes": -1}', ["peak of the memory: -1 is not a quantity"]),
        ('{"memory_max_bytes": NaN}', ["peak of the memory: nan is not a quantity"]),
        ('{"memory_max_bytes": "16Pi"}', ["peak of the memory: 18014398509481984 is above the maximum"]),
        (
            '{"memory_max_bytes": true, "cpu_max_cores": "NaN"}',
            ["peak of the memory: True is not a quantity", "peak of the CPU: 'NaN' is not a quantity"],
        ),
    ],
)
def test_an_amount_that_cannot_be_read_is_a_warning(message: str, warnings: list[str]) -> None:
    found, logged = read(None, message)
    assert found == Peak()
    assert [line[: len(start)] for line, start in zip(logged, warnings, strict=True)] == warnings


@numbers.Integral.register
class Int64:
    """An integer of another library, such as numpy.int64, which is no int."""

    def __str__(self) -> str:
        return "7516192768"


@numbers.Real.register
class Float32:
    def __str__(self) -> str:
        return "5e-01"


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (Int64(), Peak(7 * GIB)),
        ({"memory_max_bytes": Int64(), "cpu_max_cores": Float32()}, Peak(7 * GIB, 0.5)),
        (Decimal("7516192768"), Peak(7 * GIB)),
        (7.5 * GIB, Peak(15 * GIB // 2)),
    ],
)
def test_numbers_of_other_types_are_read(value: Any, want: Peak) -> None:
    assert read(lambda pod, context: value) == (want, [])


def test_numbers_of_numpy_are_read() -> None:
    numpy = pytest.importorskip("numpy")
    fields = {"memory_max_bytes": numpy.int64(7 * GIB), "cpu_max_cores": numpy.float32(0.5)}
    assert read(lambda pod, context: fields) == (Peak(7 * GIB, 0.5), [])
    assert read(lambda pod, context: numpy.float32(7e9))[0] == Peak(7_000_000_000)
    assert read(lambda pod, context: numpy.bool_(True))[0] == Peak()


def series(text: str) -> Any:
    return read(None, '{"memory_max_bytes": 1073741824, "series": ' + text + "}")[0].series


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
    assert read(lambda pod, context: context["peak"], context={"peak": "7Gi"}) == (Peak(7 * GIB), [])
    assert read(lambda pod, context: None) == (Peak(), [])


def test_the_source_none_measures_nothing() -> None:
    assert read("none", "1073741824") == (Peak(), [])


def test_exceptions_of_a_callable_propagate() -> None:
    def broken(pod: Any, context: Any) -> Any:
        raise KeyError("no such metric")

    with pytest.raises(KeyError):
        read(broken)
