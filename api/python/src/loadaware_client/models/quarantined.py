from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Quarantined")


@_attrs_define
class Quarantined:
    """One report whose peak is too far from all data of its task.

    Attributes:
        memory_max_bytes (int): The reported peak; for an OOM kill its lower bound.
        detail (str): The bound that the peak violates, with the data from which it follows.
    """

    memory_max_bytes: int
    detail: str

    def to_dict(self) -> dict[str, Any]:
        memory_max_bytes = self.memory_max_bytes

        detail = self.detail

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "memory_max_bytes": memory_max_bytes,
                "detail": detail,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        memory_max_bytes = d.pop("memory_max_bytes")

        detail = d.pop("detail")

        quarantined = cls(
            memory_max_bytes=memory_max_bytes,
            detail=detail,
        )

        return quarantined
