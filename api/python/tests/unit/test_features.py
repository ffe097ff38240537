"""Tests of the features that are sent, and of those that never are."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_loadaware import features


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
    table = Path(__file__).parents[4] / "internal/source/airflow/testdata/globs.json"
    for case in json.loads(table.read_text()):
        for name in (*case["matches"], *case["differs"]):
            given = SimpleNamespace(conf={name: 1})
            # The empty name and a name with a line break match globs, but are never sent.
            expected = {name: 1} if name and "\n" not in name and name in case["matches"] else {}
            assert features.of_context({"dag_run": given}, [case["glob"]]) == expected, (case["glob"], name)


def test_names_that_look_like_a_secret_are_never_sent() -> None:
    names = ["db_password", "API_KEY", "access_token", "client_secret", "Authorization"]
    given = context(dict.fromkeys(names, "x"), {}, set(names))
    assert features.of_context(given, ["*"]) == {}


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


@pytest.mark.parametrize("text", ['{"a": 1}', "{'a': 1}"])
def test_a_mapping_as_text_is_parsed(text: str) -> None:
    assert features.of_source(text, {}) == {"a": 1}


@pytest.mark.parametrize("source", ["invalid", "[1]", lambda _: 3, 7])
def test_anything_but_a_mapping_is_rejected(source: Any) -> None:
    with pytest.raises((TypeError, ValueError, SyntaxError)):
        features.of_source(source, {})
