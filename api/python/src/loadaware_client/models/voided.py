from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Voided")


@_attrs_define
class Voided:
    """
    Attributes:
        voided (bool):
    """

    voided: bool

    def to_dict(self) -> dict[str, Any]:
        voided = self.voided

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "voided": voided,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        voided = d.pop("voided")

        voided = cls(
            voided=voided,
        )

        return voided
