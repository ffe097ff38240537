from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Warning_")


@_attrs_define
class Warning_:
    """One warning about an accepted request or report.

    Attributes:
        field (str): The field as the client wrote it: `memory_max_bytes`, `observations[3].features`.
        detail (str): Why the value is implausible and how the service handles it.
    """

    field: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        field = self.field

        detail = self.detail

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "field": field,
                "detail": detail,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        field = d.pop("field")

        detail = d.pop("detail")

        warning = cls(
            field=field,
            detail=detail,
        )

        return warning
