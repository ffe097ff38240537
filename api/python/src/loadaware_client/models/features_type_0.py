from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="FeaturesType0")


@_attrs_define
class FeaturesType0:
    """Inputs that are known before the launch, by name (1 to 100 characters, at most 200 names). A value is a number, a
    boolean, a category (a string of at most 500 characters) or a date (a string that begins with the year, such as
    `2020-01-03`, `2020/01/03`, `2020-01-03 02:15` or RFC 3339, or one like `25.03.2020`). Hours and days of a time with
    an offset are those of its local time; a time without an offset is UTC. Null means missing. A string that is a
    decimal number (`1253`, `1_000_000`) or an amount of bytes or time (`37.5GB`, `16Gi`, `90 min`) counts
    as a number, also with white space around it; one with leading zeros (`007`) is a category; so is one without a
    point that has more than 15 digits, or an exponent above 15 without a sign (`7e943102`). So is an integer from
    2^53 on (9007199254740992) that is sent as a number, because it may be an id. `True` and `false` in a string are
    booleans. `20250103` in a string or as a number is a date, unless most values of its feature are other numbers.
    Arrays and
    objects are invalid. A value whose kind differs from most values of its feature counts as
    missing; a boolean counts as 0 or 1 if the others are numbers. Strings that recur among numbers or booleans, such as
    `ALL`, are an additional category.

        Example:
            {'product_count': 1253, 'region': 'emea', 'sale_end': '2020-02-05'}

    """

    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        features_type_0 = cls()

        features_type_0.additional_properties = d
        return features_type_0

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
