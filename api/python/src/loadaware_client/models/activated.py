from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Activated")


@_attrs_define
class Activated:
    """
    Attributes:
        activated (bool):
        version (int):
    """

    activated: bool
    version: int

    def to_dict(self) -> dict[str, Any]:
        activated = self.activated

        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "activated": activated,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        activated = d.pop("activated")

        version = d.pop("version")

        activated = cls(
            activated=activated,
            version=version,
        )

        return activated
