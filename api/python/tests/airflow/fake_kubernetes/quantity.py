"""Kubernetes quantities of memory and CPU."""

from __future__ import annotations

import re

_FACTORS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
}


def memory_bytes(quantity: str) -> int:
    """Return the bytes of a quantity: 10Gi is 10737418240. Raises ValueError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)", quantity.strip())
    if match is None or match.group(2) not in _FACTORS:
        raise ValueError(f"{quantity!r} is not a quantity of memory")
    return int(float(match.group(1)) * _FACTORS[match.group(2)])


def cpu_cores(quantity: str) -> float:
    """Return the cores of a quantity: 250m is 0.25. Raises ValueError."""
    return float(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)
