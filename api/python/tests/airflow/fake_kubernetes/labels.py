"""Label selectors: a=b, a==b, a!=b, a, !a, joined by commas."""

from __future__ import annotations

from collections.abc import Mapping


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Return whether labels match a selector. The empty selector matches all."""
    return all(_matches_term(term.strip(), labels) for term in selector.split(",") if term.strip())


def _matches_term(term: str, labels: Mapping[str, str]) -> bool:
    if "!=" in term:
        name, value = term.split("!=", 1)
        return labels.get(name.strip()) != value.strip()
    if "=" in term:
        name, value = term.replace("==", "=").split("=", 1)
        return labels.get(name.strip()) == value.strip()
    if term.startswith("!"):
        return term[1:].strip() not in labels
    return term in labels
