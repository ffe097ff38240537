from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="PlannedLimit")


@_attrs_define
class PlannedLimit:
    """
    Attributes:
        seconds (float): Time since the start of the try at which the limit is in force.
        memory_bytes (int): Bytes; at most 8Pi.
    """

    seconds: float
    memory_bytes: int

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds

        memory_bytes = self.memory_bytes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "seconds": seconds,
                "memory_bytes": memory_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        seconds = d.pop("seconds")

        memory_bytes = d.pop("memory_bytes")

        planned_limit = cls(
            seconds=seconds,
            memory_bytes=memory_bytes,
        )

        return planned_limit
