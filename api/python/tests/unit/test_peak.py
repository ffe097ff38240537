"""Where a peak comes from."""

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


def test_a_callable_is_asked() -> None:
    assert measure(lambda pod, context: context["peak"], None, None, {"peak": "7Gi"}) == Peak(7 * GIB)
    assert measure(lambda pod, context: None, None, None, {}) == Peak()


def test_none_measures_nothing() -> None:
    assert measure("none", None, "1073741824", {}) == Peak()


def test_what_a_callable_raises_is_raised() -> None:
    def broken(pod: Any, context: Any) -> Any:
        raise KeyError("no such metric")

    with pytest.raises(KeyError):
        measure(broken, None, None, {})
