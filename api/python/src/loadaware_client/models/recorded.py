from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Recorded")


@_attrs_define
class Recorded:
    """
    Attributes:
        recorded (bool): It is stored.
        duplicate (bool): It was known already; no second effect.
        amended (bool): It filled fields that were not known.
    """

    recorded: bool
    duplicate: bool
    amended: bool

    def to_dict(self) -> dict[str, Any]:
        recorded = self.recorded

        duplicate = self.duplicate

        amended = self.amended

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "recorded": recorded,
                "duplicate": duplicate,
                "amended": amended,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        recorded = d.pop("recorded")

        duplicate = d.pop("duplicate")

        amended = d.pop("amended")

        recorded = cls(
            recorded=recorded,
            duplicate=duplicate,
            amended=amended,
        )

        return recorded
