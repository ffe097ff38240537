from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.problem import Problem


T = TypeVar("T", bound="ItemError")


@_attrs_define
class ItemError:
    """
    Attributes:
        error (Problem): An error (RFC 9457).
    """

    error: Problem

    def to_dict(self) -> dict[str, Any]:
        error = self.error.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "error": error,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.problem import Problem

        d = dict(src_dict)
        error = Problem.from_dict(d.pop("error"))

        item_error = cls(
            error=error,
        )

        return item_error
