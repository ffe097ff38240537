from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="KilledTryType0")


@_attrs_define
class KilledTryType0:
    """Why the try was OOM-killed, and which amount would have held.

    Attributes:
        killed_bytes (int): The allocation of the killed try, or its highest measured usage if that is more.
        needed_bytes (int | None): The largest measured peak of the later tries of the run; null if none is above
            `killed_bytes`.
        would_hold_bytes (int | None): `needed_bytes` in whole MiB; null if unknown.
        text (str):
    """

    killed_bytes: int
    needed_bytes: int | None
    would_hold_bytes: int | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        killed_bytes = self.killed_bytes

        needed_bytes: int | None
        needed_bytes = self.needed_bytes

        would_hold_bytes: int | None
        would_hold_bytes = self.would_hold_bytes

        text = self.text

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "killed_bytes": killed_bytes,
                "needed_bytes": needed_bytes,
                "would_hold_bytes": would_hold_bytes,
                "text": text,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        killed_bytes = d.pop("killed_bytes")

        def _parse_needed_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        needed_bytes = _parse_needed_bytes(d.pop("needed_bytes"))

        def _parse_would_hold_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        would_hold_bytes = _parse_would_hold_bytes(d.pop("would_hold_bytes"))

        text = d.pop("text")

        killed_try_type_0 = cls(
            killed_bytes=killed_bytes,
            needed_bytes=needed_bytes,
            would_hold_bytes=would_hold_bytes,
            text=text,
        )

        return killed_try_type_0
