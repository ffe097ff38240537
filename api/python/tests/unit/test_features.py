"""Tests of the features that are sent, and of those that never are."""

from __future__ import annotations

import json
import numbers
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_loadaware import features

IMPORTER = Path(__file__).parents[4] / "internal/source/airflow/testdata"


def context(params: dict[str, Any], conf: dict[str, Any], declared: set[str]) -> dict[str, Any]:
    return {
        "params": {**params, **conf},  # Airflow merges them
        "dag_run": SimpleNamespace(conf=conf),
        "dag": SimpleNamespace(params=dict.fromkeys(declared)),
        "task": SimpleNamespace(params={}),
    }


def test_declared_params_are_sent_and_conf_overrides_them() -> None:
    given = context({"region": "emea", "n": 1}, {"n": 7}, {"region", "n"})
    assert features.of_context(given, []) == {"region": "emea", "n": 7}


def test_other_names_of_conf_need_the_allow_list() -> None:
    given = context({}, {"product_count": 1253, "note": "hello"}, set())
    assert features.of_context(given, []) == {}
    assert features.of_context(given, ["product_*"]) == {"product_count": 1253}


def test_globs_follow_the_same_table_as_the_importer() -> None:
    for case in json.loads((IMPORTER / "globs.json").read_text()):
        for name in (*case["matches"], *case["differs"]):
            given = SimpleNamespace(conf={name: 1})
            # The empty name and a name with a line break match globs, but are never sent.
            expected = {name: 1} if name and "\n" not in name and name in case["matches"] else {}
            assert features.of_context({"dag_run": given}, [case["glob"]]) == expected, (case["glob"], name)


def test_secrets_follow_the_same_table_as_the_importer() -> None:
    names = json.loads((IMPORTER / "secrets.json").read_text())
    for kind, is_text_sent, is_number_sent in [
        ("never", False, False),
        ("numbers", False, True),
        ("always", True, True),
    ]:
        for name in names[kind]:
            given = context({name: "x"}, {}, {name})
            assert features.of_context(given, ["*"]) == ({name: "x"} if is_text_sent else {})
            assert features.within_limits({name: 7}) == ({name: 7} if is_number_sent else {})
            assert features.declared_names(given) == ({name} if is_text_sent else set())


def test_only_short_scalars_are_sent() -> None:
    values = {
        "list": [1],
        "dict": {},
        "none": None,
        "long": "x" * 501,
        "nan": float("nan"),
        "huge": 10**400,
        "x" * 101: 1,
        7: 7,
        "ok": "x" * 500,
        "flag": True,
    }
    assert features.within_limits(values) == {"ok": "x" * 500, "flag": True}
    assert len(features.within_limits({f"f{i}": i for i in range(1000)})) == features.MAX_FEATURES


def test_a_text_that_the_server_rejects_gets_replacement_characters() -> None:
    name = b"caf\xe9.csv".decode(errors="surrogateescape")  # as os.listdir returns it
    assert features.within_limits({"file": name, "nul": "a\0b"}) == {"file": "caf\ufffd.csv", "nul": "a\ufffdb"}
    assert features.within_limits({"a\udce9": 1, "a\tb": 2, "a\x7f": 3, "é": 4}) == {"é": 4}


class Scalar:
    """A scalar of another library, such as numpy.bool_ or a tensor with one value."""

    def __init__(self, value: Any, kind: str = "b") -> None:
        self.dtype = SimpleNamespace(kind=kind)
        self._value = value

    def item(self) -> Any:
        return self._value

    def __str__(self) -> str:
        return str(self._value)


@numbers.Integral.register
class Int64:
    """An integer of another library, such as numpy.int64, which is no int."""

    def __int__(self) -> int:
        return 5


@numbers.Real.register
class Float32:
    def __float__(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (Int64(), 5),
        (Float32(), 0.5),
        (Fraction(1, 4), 0.25),
        (Decimal("7"), 7),
        (Decimal("9007199254740993"), 9007199254740993),
        (Decimal("7.25"), 7.25),
        (Decimal("1e6"), 1e6),
        (Scalar(True), True),
        (Scalar(3, "i"), 3),
        (Scalar("2025-04-01T00:00:00.000000000", "M"), "2025-04-01T00:00:00.000000000"),
        (date(2025, 4, 1), "2025-04-01"),
    ],
)
def test_scalars_of_other_types_are_sent(value: Any, sent: Any) -> None:
    omitted: dict[str, str] = {}
    (found,) = features.within_limits({"f": value}, omitted).values()
    assert found == sent and type(found) is type(sent) and omitted == {}


def test_scalars_of_numpy_are_sent() -> None:
    numpy = pytest.importorskip("numpy")
    values = [
        numpy.int64(5),
        numpy.float32(0.5),
        numpy.float64(0.5),
        numpy.bool_(True),
        numpy.str_("a"),
        numpy.array([7]),
    ]
    sent = features.within_limits({str(i): value for i, value in enumerate(values)})
    assert list(sent.values()) == [5, 0.5, 0.5, True, "a", 7]
    assert json.loads(json.dumps(sent)) == sent
    assert features.within_limits({"at": numpy.datetime64("2025-04-01T00:00:00", "ns")}) == {
        "at": "2025-04-01T00:00:00.000000000"
    }
    unsent = {"nat": numpy.datetime64("NaT"), "array": numpy.arange(3), "span": numpy.timedelta64(3, "ns")}
    assert features.within_limits(unsent) == {}


def test_the_reasons_of_omitted_features_are_noted() -> None:
    omitted: dict[str, str] = {}
    values = {
        "none": None,
        "secret": None,
        "empty": "",
        "list": [1],
        "long": "x" * 501,
        "nan": Decimal("NaN"),
        "nat": Scalar("NaT", "M"),
        "signaling": Decimal("sNaN"),
        "huge": 10**400,
        "large": Decimal("1e999999"),
        "api_token": "x",
        "a\nb": 1,
        7: 7,
    }
    assert features.within_limits(values, omitted) == {}
    name = "its name is not a text of 1 to 100 characters, or it has control characters"
    finite = "not a finite number below 1e300"
    assert omitted == {
        "list": "a value of type list; only numbers, texts, bools and dates are sent",
        "long": "longer than 500 characters",
        "nan": finite,
        "nat": "not a time",
        "signaling": "its value raises ValueError",
        "huge": finite,
        "large": finite,
        "api_token": "its name looks like a secret",
        "a\nb": name,
        "7": name,
    }
    omitted.clear()
    features.within_limits({f"f{i}": i for i in range(101)}, omitted)
    assert omitted == {"f100": "more than 100 features"}


def test_the_first_hundred_names_of_params_and_conf_are_sent() -> None:
    params = {f"p{n:03d}": n for n in reversed(range(0, 300, 2))}
    conf = {f"p{n:03d}": n for n in reversed(range(1, 300, 2))}
    sent = features.of_context(context(params, conf, set(params)), ["p*"])
    assert sent == {f"p{n:03d}": n for n in range(100)}


def test_a_callable_reads_the_context() -> None:
    assert features.of_source(lambda c: {"n": c["x"] + 1}, {"x": 1}) == {"n": 2}


def test_a_rendered_number_is_a_number_and_a_literal_stays_text() -> None:
    source = {"count": "{{ params.n }}", "zone": "17", "share": "{{ 1 / 2 }}"}
    names = features.jinja_names(source)
    rendered = {"count": "1253", "zone": "17", "share": "0.5"}
    assert features.of_source(rendered, {}, names) == {"count": 1253, "zone": "17", "share": 0.5}


def rendered(text: str) -> Any:
    return features.of_source({"f": text}, {}, frozenset({"f"})).get("f")


def test_rendered_texts_follow_the_same_table_as_the_importer() -> None:
    for case in json.loads((IMPORTER / "rendered.json").read_text()):
        found, sent = rendered(case["text"]), case["sent"]
        assert found == sent and type(found) is type(sent), case


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("None", None),
        ("\n  None\n", None),
        ("none", "none"),
        ("9" * 501, None),
    ],
)
def test_a_rendered_number_or_none_is_sent_as_python_wrote_it(text: str, sent: Any) -> None:
    found = rendered(text)
    assert found == sent and type(found) is type(sent)


@pytest.mark.parametrize("text", ['{"a": 1}', "{'a': 1}"])
def test_a_mapping_as_text_is_parsed(text: str) -> None:
    assert features.of_source(text, {}) == {"a": 1}


@pytest.mark.parametrize("source", ["invalid", "[1]", lambda _: 3, 7])
def test_anything_but_a_mapping_is_rejected(source: Any) -> None:
    with pytest.raises((TypeError, ValueError, SyntaxError)):
        features.of_source(source, {})
