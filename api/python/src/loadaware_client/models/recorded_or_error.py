from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.problem import Problem


T = TypeVar("T", bound="RecordedOrError")


@_attrs_define
class RecordedOrError:
    """
    Attributes:
        recorded (bool):
        duplicate (bool):
        amended (bool):
        error (Problem | Unset): An error (RFC 9457).
    """

    recorded: bool
    duplicate: bool
    amended: bool
    error: Problem | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        recorded = self.recorded

        duplicate = self.duplicate

        amended = self.amended

        error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.error, Unset):
            error = self.error.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "recorded": recorded,
                "duplicate": duplicate,
                "amended": amended,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.problem import Problem

        d = dict(src_dict)
        recorded = d.pop("recorded")

        duplicate = d.pop("duplicate")

        amended = d.pop("amended")

        _error = d.pop("error", UNSET)
        error: Problem | Unset
        if isinstance(_error, Unset):
            error = UNSET
        else:
            error = Problem.from_dict(_error)

        recorded_or_error = cls(
            recorded=recorded,
            duplicate=duplicate,
            amended=amended,
            error=error,
        )

        return recorded_or_error
