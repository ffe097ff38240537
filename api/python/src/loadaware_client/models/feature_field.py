from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.feature_field_kind import FeatureFieldKind

T = TypeVar("T", bound="FeatureField")


@_attrs_define
class FeatureField:
    """
    Attributes:
        name (str):
        kind (FeatureFieldKind): A feature with values of several kinds, or with numbers in texts, is listed once for
            each kind. The model uses the most frequent kind; if texts recur among numbers or bools, it uses them, too, as a
            category.
        categories (int | None): Number of stored distinct values of a category, at most 5,000; null for other kinds.
    """

    name: str
    kind: FeatureFieldKind
    categories: int | None

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        kind = self.kind.value

        categories: int | None
        categories = self.categories

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "kind": kind,
                "categories": categories,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        kind = FeatureFieldKind(d.pop("kind"))

        def _parse_categories(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        categories = _parse_categories(d.pop("categories"))

        feature_field = cls(
            name=name,
            kind=kind,
            categories=categories,
        )

        return feature_field
