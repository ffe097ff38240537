"""What is told of a try before launch: names and scalars, by allow-list, within size limits.

Never sent: arguments, environment and connections, since they hold secrets; values under names that
sound like a secret, wherever they come from; and anything that is not a scalar.
"""

from __future__ import annotations

import ast
import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any, TypeAlias

Scalar: TypeAlias = str | int | float | bool
Source: TypeAlias = Mapping[str, Any] | Callable[[Any], Any] | str | None

MAX_FEATURES = 100  # the server takes 200
MAX_NAME = 100
MAX_TEXT = 500
_SECRET = re.compile(r"passw|secret|token|credential|api_?key|private_?key|access_?key|authorization", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def of_context(context: Mapping[str, Any], allowed: Iterable[str]) -> dict[str, Scalar]:
    """Params and dag_run.conf.

    Params that the DAG or the task declares are sent: their author shows them in the trigger form. Other names
    of dag_run.conf, which anybody fills with anything, only where they match a glob in `allowed`.
    """
    declared = {*_names(context.get("dag")), *_names(context.get("task"))}
    globs = list(allowed)
    conf = getattr(context.get("dag_run"), "conf", None)
    # By default Airflow mixes all of conf into params, so that params alone do not tell what was declared.
    found = {**dict(context.get("params") or {}), **(conf if isinstance(conf, Mapping) else {})}
    return limited(
        {k: v for k, v in found.items() if k in declared or any(fnmatch.fnmatchcase(str(k), g) for g in globs)}
    )


def given(source: Source, context: Mapping[str, Any], jinja_names: frozenset[str] = frozenset()) -> dict[str, Scalar]:
    """The features that a DAG author states: a mapping, a callable of the context, or rendered text of a mapping.

    Jinja renders to text. Values under `jinja_names`, which were templates, become numbers again where they
    read as one; "17" that was written as text stays a category. TypeError if `source` is nothing of this.
    """
    value: Any = source(context) if callable(source) else source
    if isinstance(value, str):
        value = _mapping(value)
    if not isinstance(value, Mapping):
        raise TypeError(f"features are {type(value).__name__}: give a dict, a callable that returns one, or its text")
    return limited({k: _number(v) if k in jinja_names else v for k, v in value.items()})


def jinja_names(source: Source) -> frozenset[str]:
    """The names whose values are templates."""
    if not isinstance(source, Mapping):
        return frozenset()
    return frozenset(k for k, v in source.items() if isinstance(v, str) and ("{{" in v or "{%" in v))


def limited(values: Mapping[Any, Any]) -> dict[str, Scalar]:
    """Those values that are scalars of bearable size under harmless names; at most MAX_FEATURES, in order."""
    kept: dict[str, Scalar] = {}
    for name, value in values.items():
        if len(kept) == MAX_FEATURES:
            break
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or _SECRET.search(name):
            continue
        scalar = _scalar(value)
        if scalar is not None:
            kept[name] = scalar
    return kept


def _names(owner: Any) -> Iterable[str]:
    params = getattr(owner, "params", None)
    return list(params) if params else ()


def _scalar(value: Any) -> Scalar | None:
    value = getattr(value, "value", value) if type(value).__name__ == "Param" else value
    if isinstance(value, (datetime, date)):
        value = value.isoformat()
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if abs(value) < 1e300 else None  # also neither infinite nor NaN
    # Longer text is left out, not cut: a cut value would be another category.
    if isinstance(value, str) and value and len(value) <= MAX_TEXT:
        return value
    return None


def _mapping(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def _number(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return value
