"""Features of a try, known before launch: scalars and dates that the DAG author sets or allows, within size limits.

Never read: arguments, environment variables and connections, because they may contain secrets. Never sent: values
whose name looks like a secret, and values of other types.
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

MAX_FEATURES = 100  # the server accepts 200
MAX_NAME = 100  # characters
MAX_TEXT = 500  # characters
_SECRET = re.compile(r"passw|secret|token|credential|api_?key|private_?key|access_?key|authorization", re.IGNORECASE)
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_CONTROL = re.compile("[\0-\x1f\x7f\ud800-\udfff]")  # the server accepts none of these in a name
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def of_context(context: Mapping[str, Any], allowed: Iterable[str]) -> dict[str, Scalar]:
    """Return the features from params and dag_run.conf.

    Params that the DAG or the task declares need no permission. Other values of dag_run.conf may be anything and are
    included only if their names match a glob in `allowed`.
    """
    own = declared_names(context)
    globs = list(allowed)
    conf = getattr(context.get("dag_run"), "conf", None)
    # By default Airflow merges dag_run.conf into params, so params alone do not show which names are declared.
    found = {**dict(context.get("params") or {}), **(conf if isinstance(conf, Mapping) else {})}
    # The order decides which names are within the limit. The importer (internal/source/airflow/features.go) sorts, too.
    names = sorted(k for k in found if isinstance(k, str))
    return within_limits({k: found[k] for k in names if k in own or any(fnmatch.fnmatchcase(k, g) for g in globs)})


def declared_names(context: Mapping[str, Any]) -> set[str]:
    """Return the names of the params that the DAG or the task declares and that do not look like a secret."""
    names = {*_names(context.get("dag")), *_names(context.get("task"))}
    return {name for name in names if isinstance(name, str) and not _SECRET.search(name)}


def of_source(
    source: Source, context: Mapping[str, Any], jinja_names: frozenset[str] = frozenset()
) -> dict[str, Scalar]:
    """Return the features that a DAG author sets: a mapping, a callable of the context, or a mapping as text.

    Jinja renders to text. A value under `jinja_names` was a template and becomes a number if it parses as one;
    a literal "17" is sent as text. Raises TypeError for anything but a mapping, and ValueError or SyntaxError for
    text that cannot be parsed.
    """
    value: Any = source(context) if callable(source) else source
    if isinstance(value, str):
        value = _mapping(value)
    if not isinstance(value, Mapping):
        raise TypeError(f"features: {type(value).__name__} is not a mapping; pass a dict, a callable or text")
    return within_limits({k: _number(v) if k in jinja_names else v for k, v in value.items()})


def jinja_names(source: Source) -> frozenset[str]:
    """Return the names whose values are Jinja templates."""
    if not isinstance(source, Mapping):
        return frozenset()
    return frozenset(k for k, v in source.items() if isinstance(v, str) and ("{{" in v or "{%" in v))


def within_limits(values: Mapping[Any, Any]) -> dict[str, Scalar]:
    """Return the first MAX_FEATURES scalars and dates with valid lengths and names that do not look like a secret."""
    accepted: dict[str, Scalar] = {}
    for name, value in values.items():
        if len(accepted) == MAX_FEATURES:
            break
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or _SECRET.search(name) or _CONTROL.search(name):
            continue
        scalar = _scalar(value)
        if scalar is not None:
            accepted[name] = scalar
    return accepted


def clean(text: str) -> str:
    """Return `text` with U+FFFD for NUL and for the parts of it that UTF-8 cannot encode.

    os.listdir returns such parts (lone surrogates) for names of files that are not UTF-8. `loadaware import airflow`
    also reads them as U+FFFD.
    """
    return _UNSENDABLE.sub("\ufffd", text)


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
        return value if abs(value) < 1e300 else None  # also excludes infinity and NaN
    # Longer text is dropped, not truncated: a truncated value would be another category.
    if isinstance(value, str) and value and len(value) <= MAX_TEXT:
        return clean(value)
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
