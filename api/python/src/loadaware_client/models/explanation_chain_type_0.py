from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.explanation_term import ExplanationTerm


T = TypeVar("T", bound="ExplanationChainType0")


@_attrs_define
class ExplanationChainType0:
    """The chain of the grant that enforce mode would give; null except in shadow mode.

    Attributes:
        granted_bytes (int):
        base_bytes (int):
        base (str):
        expected_bytes (int | None):
        terms (list[ExplanationTerm]):
    """

    granted_bytes: int
    base_bytes: int
    base: str
    expected_bytes: int | None
    terms: list[ExplanationTerm]

    def to_dict(self) -> dict[str, Any]:
        granted_bytes = self.granted_bytes

        base_bytes = self.base_bytes

        base = self.base

        expected_bytes: int | None
        expected_bytes = self.expected_bytes

        terms = []
        for terms_item_data in self.terms:
            terms_item = terms_item_data.to_dict()
            terms.append(terms_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "granted_bytes": granted_bytes,
                "base_bytes": base_bytes,
                "base": base,
                "expected_bytes": expected_bytes,
                "terms": terms,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.explanation_term import ExplanationTerm

        d = dict(src_dict)
        granted_bytes = d.pop("granted_bytes")

        base_bytes = d.pop("base_bytes")

        base = d.pop("base")

        def _parse_expected_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        expected_bytes = _parse_expected_bytes(d.pop("expected_bytes"))

        terms = []
        _terms = d.pop("terms")
        for terms_item_data in _terms:
            terms_item = ExplanationTerm.from_dict(terms_item_data)

            terms.append(terms_item)

        explanation_chain_type_0 = cls(
            granted_bytes=granted_bytes,
            base_bytes=base_bytes,
            base=base,
            expected_bytes=expected_bytes,
            terms=terms,
        )

        return explanation_chain_type_0
