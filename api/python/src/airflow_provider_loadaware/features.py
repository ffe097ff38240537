"""Features of a try, known before launch: scalars and dates that the DAG author sets or allows, within size limits.

Never read: arguments, environment variables and connections, because they may contain secrets. Never sent: values
whose name looks like a secret, and values of other types. The functions note in `omitted` which features they leave
out, and why.
"""

from __future__ import annotations

import ast
import fnmatch
import json
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

Scalar: TypeAlias = str | int | float | bool
Source: TypeAlias = Mapping[str, Any] | Callable[[Any], Any] | str | None

MAX_FEATURES = 100  # the server accepts 200
MAX_NAME = 100  # characters
MAX_TEXT = 500  # characters
# The value of a name that matches _SECRET may be a secret; "secretary" and "tokenizer" do not match. A number or bool
# is left out only if its name matches _SECRET_NUMBER, that is, ends with a word such as "token": token_count and
# num_tokens are counts. The importer has the same patterns (internal/source/airflow/secrets.go).
_SECRET = re.compile(
    "(?i)passw|credential|authorization|(?:api|access|private)[^a-z]?key|"
    "secret(?:a?$|[^a]|a[^r])|token(?:i?$|[^i]|i[^sz])"
)
_SECRET_NUMBER = re.compile(
    "(?i)(?:passw[a-z]*|secret|token|credentials?|authorization|(?:api|access|private|secret)[^a-z]?key)[^a-z]*$"
)
_TOO_LARGE = 1e300  # a number of at least this magnitude is not sent as a number
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_CONTROL = re.compile("[\0-\x1f\x7f\ud800-\udfff]")  # the server accepts none of these in a name
# Rendered texts that are sent as numbers. Others, such as 0042, an integer of more than 15 digits or the hash 7e12, may
# be ids. They stay texts; internal/sizing/amount.go has the same rules. Python writes each exponent with its sign.
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_FLOAT = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]\d+)", re.ASCII)


def of_context(
    context: Mapping[str, Any], allowed: Iterable[str], omitted: dict[str, str] | None = None
) -> dict[str, Scalar]:
    """Return the features from params and dag_run.conf.

    Params that the DAG or the task declares need no permission. Other values of dag_run.conf may be anything and are
    included only if their names match a glob in `allowed`.
    """
    own = _declared(context)
    globs = list(allowed)
    conf = getattr(context.get("dag_run"), "conf", None)
    # By default Airflow merges dag_run.conf into params, so params alone do not show which names are declared.
    found = {**dict(context.get("params") or {}), **(conf if isinstance(conf, Mapping) else {})}
    # The order decides which names are within the limit. The importer (internal/source/airflow/features.go) sorts, too.
    names = sorted(k for k in found if isinstance(k, str))
    chosen = {k: found[k] for k in names if k in own or any(fnmatch.fnmatchcase(k, g) for g in globs)}
    return within_limits(chosen, omitted)


def declared_names(context: Mapping[str, Any]) -> set[str]:
    """Return the names of the params that the DAG or the task declares and that do not look like a secret."""
    return {name for name in _declared(context) if isinstance(name, str) and not _SECRET.search(name)}


def of_source(
    source: Source,
    context: Mapping[str, Any],
    jinja_names: frozenset[str] = frozenset(),
    omitted: dict[str, str] | None = None,
) -> dict[str, Scalar]:
    """Return the features that a DAG author sets: a mapping, a callable of the context, or a mapping as text.

    Jinja renders to text. The value of a name in `jinja_names` was a template; see _rendered. A literal "17" is sent as
    text. Raises TypeError for anything but a mapping, and ValueError or SyntaxError for text that cannot be parsed.
    """
    value: Any = source(context) if callable(source) else source
    if isinstance(value, str):
        value = _mapping(value)
    if not isinstance(value, Mapping):
        raise TypeError(f"features: {type(value).__name__} is not a mapping; pass a dict, a callable or text")
    return within_limits({k: _rendered(v) if k in jinja_names else v for k, v in value.items()}, omitted)


def jinja_names(source: Source) -> frozenset[str]:
    """Return the names whose values are Jinja templates."""
    if not isinstance(source, Mapping):
        return frozenset()
    return frozenset(k for k, v in source.items() if isinstance(v, str) and ("{{" in v or "{%" in v))


def within_limits(values: Mapping[Any, Any], omitted: dict[str, str] | None = None) -> dict[str, Scalar]:
    """Return the first MAX_FEATURES scalars and dates with valid names that do not look like a secret.

    None and empty texts are missing values. They are left out, but `omitted` does not name them.
    """
    accepted: dict[str, Scalar] = {}
    for name, value in values.items():
        try:
            scalar = _feature(name, value)
            if scalar is None:
                continue
            if len(accepted) == MAX_FEATURES:
                raise OmittedError(f"more than {MAX_FEATURES} features")
            accepted[name] = scalar
        except Exception as error:  # noqa: BLE001 - the conversion of a foreign type may raise anything
            if omitted is not None:
                # The message of another error may contain the value, which may be a secret.
                reason = str(error) if isinstance(error, OmittedError) else f"its value raises {type(error).__name__}"
                omitted[clean(str(name))[:MAX_NAME]] = reason
    return accepted


class OmittedError(Exception):
    """A feature is not sent. The message is the reason."""


def clean(text: str) -> str:
    """Return `text` with U+FFFD for NUL and for the parts of it that UTF-8 cannot encode.

    os.listdir returns such parts (lone surrogates) for names of files that are not UTF-8. `loadaware import airflow`
    also reads them as U+FFFD.
    """
    return _UNSENDABLE.sub("\ufffd", text)


def _declared(context: Mapping[str, Any]) -> set[Any]:
    owners = (context.get("dag"), context.get("task"))
    return {name for owner in owners for name in getattr(owner, "params", None) or ()}


def _feature(name: Any, value: Any) -> Scalar | None:
    """Return a value as it is sent, or None if it is missing. Raises OmittedError and errors of the value's type."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or _CONTROL.search(name):
        raise OmittedError(f"its name is not a text of 1 to {MAX_NAME} characters, or it has control characters")
    scalar = _scalar(getattr(value, "value", value) if type(value).__name__ == "Param" else value)
    if scalar is not None and (_SECRET if isinstance(scalar, str) else _SECRET_NUMBER).search(name):
        raise OmittedError("its name looks like a secret")
    return scalar


def _scalar(value: Any) -> Scalar | None:
    if value is None or isinstance(value, bool):
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", None)  # of NumPy: "M" for a time, "m" for a time span
    if kind == "M" or isinstance(value, (datetime, date)):
        value = str(value) if kind == "M" else value.isoformat()
        if value == "NaT":  # the missing time of NumPy and pandas
            raise OmittedError("not a time")
    if isinstance(value, str):
        # Longer text is dropped, not truncated: a truncated value would be another category.
        if len(value) > MAX_TEXT:
            raise OmittedError(f"longer than {MAX_TEXT} characters")
        return clean(value) or None
    number = _plain_number(value) if kind != "m" else None
    if number is not None:
        if not abs(number) < _TOO_LARGE:  # also true for NaN
            raise OmittedError("not a finite number below 1e300")
        return number
    # item() converts a scalar of NumPy, such as numpy.bool_, or an array with one value.
    plain = value.item() if kind != "m" and callable(getattr(value, "item", None)) else value
    if type(plain) is type(value):
        raise OmittedError(f"a value of type {type(value).__name__}; only numbers, texts, bools and dates are sent")
    return _scalar(plain)


def _plain_number(value: Any) -> int | float | None:
    """Return a number of any type as a number of JSON, or None for other values. An integer keeps all digits."""
    if isinstance(value, numbers.Integral) or (isinstance(value, Decimal) and value.as_tuple().exponent == 0):
        return int(value)
    return float(value) if isinstance(value, (numbers.Real, Decimal)) else None


def _mapping(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def _rendered(value: Any) -> Any:
    """Return a rendered text as a number if it has the form of one, as None if it is "None", and otherwise unchanged.

    An integer keeps all digits, because it may be a date (20250401).
    """
    text = value.strip() if isinstance(value, str) else ""
    if text == "None":
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text) if _FLOAT.fullmatch(text) else _TOO_LARGE
    return number if abs(number) < _TOO_LARGE else value
