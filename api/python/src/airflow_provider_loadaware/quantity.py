"""Conversion between Kubernetes quantities and numbers of bytes or cores.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import numbers
import re
import reprlib
from decimal import ROUND_CEILING, Decimal

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

_SCALE: dict[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{unit: Decimal(10) ** (3 * i) for i, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{unit: Decimal(1024) ** i for i, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
}
# No sign: a request is never negative. The digit limit bounds the size of the number.
_QUANTITY = re.compile(r"(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)")


def _parse(quantity: object) -> Decimal:
    # numbers.Real includes the numbers of NumPy.
    readable = isinstance(quantity, (str, numbers.Real, Decimal)) and not isinstance(quantity, bool)
    match = _QUANTITY.fullmatch(str(quantity).strip()) if readable else None
    if match is None:
        raise ValueError(f"{reprlib.repr(quantity)} is not a quantity; write a number and a unit, such as 350Gi")
    number, exponent, unit = match.groups()
    return Decimal(number) * (Decimal(10) ** int(exponent) if exponent else _SCALE[unit or ""])


def parse_bytes(quantity: object) -> int:
    """Return the bytes of a memory quantity such as "350Gi", "1500M" or 1024, rounded up. Raises ValueError."""
    return int(_parse(quantity).to_integral_value(ROUND_CEILING))


def parse_cores(quantity: object) -> float:
    """Return the cores of a CPU quantity: "250m" is 0.25. Raises ValueError."""
    return float(_parse(quantity))


def format_bytes(count: int) -> str:
    """Return the exact quantity of `count` bytes in the largest of Gi, Mi, Ki and bytes that divides it: "10Gi"."""
    for unit, size in (("Gi", GIB), ("Mi", MIB), ("Ki", KIB)):
        if count >= size and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)


def display_bytes(count: int) -> str:
    """Return `count` bytes rounded for log lines: "12.6Gi"."""
    for unit, size in (("Gi", GIB), ("Mi", MIB), ("Ki", KIB)):
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 999.5 * size else f"{round(count / size)}{unit}"
    return f"{count} bytes"
