from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="FailedMemory")


@_attrs_define
class FailedMemory:
    """Allocation of the killed try, as a number or as a quantity.

    Attributes:
        memory_bytes (int | None | Unset):
        memory (None | str | Unset):
    """

    memory_bytes: int | None | Unset = UNSET
    memory: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        memory_bytes: int | None | Unset
        if isinstance(self.memory_bytes, Unset):
            memory_bytes = UNSET
        else:
            memory_bytes = self.memory_bytes

        memory: None | str | Unset
        if isinstance(self.memory, Unset):
            memory = UNSET
        else:
            memory = self.memory

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if memory_bytes is not UNSET:
            field_dict["memory_bytes"] = memory_bytes
        if memory is not UNSET:
            field_dict["memory"] = memory

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_memory_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_bytes = _parse_memory_bytes(d.pop("memory_bytes", UNSET))

        def _parse_memory(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        memory = _parse_memory(d.pop("memory", UNSET))

        failed_memory = cls(
            memory_bytes=memory_bytes,
            memory=memory,
        )

        return failed_memory
