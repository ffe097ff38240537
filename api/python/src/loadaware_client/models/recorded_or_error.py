from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.problem import Problem
    from ..models.warning import Warning_


T = TypeVar("T", bound="RecordedOrError")


@_attrs_define
class RecordedOrError:
    """
    Attributes:
        recorded (bool):
        duplicate (bool):
        amended (bool):
        warnings (list[Warning_] | Unset): As in the answer to a single report; absent if there are none.
        error (Problem | Unset): An error (RFC 9457).
    """

    recorded: bool
    duplicate: bool
    amended: bool
    warnings: list[Warning_] | Unset = UNSET
    error: Problem | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        recorded = self.recorded

        duplicate = self.duplicate

        amended = self.amended

        warnings: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.warnings, Unset):
            warnings = []
            for warnings_item_data in self.warnings:
                warnings_item = warnings_item_data.to_dict()
                warnings.append(warnings_item)

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
        if warnings is not UNSET:
            field_dict["warnings"] = warnings
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.problem import Problem
        from ..models.warning import Warning_

        d = dict(src_dict)
        recorded = d.pop("recorded")

        duplicate = d.pop("duplicate")

        amended = d.pop("amended")

        _warnings = d.pop("warnings", UNSET)
        warnings: list[Warning_] | Unset = UNSET
        if _warnings is not UNSET:
            warnings = []
            for warnings_item_data in _warnings:
                warnings_item = Warning_.from_dict(warnings_item_data)

                warnings.append(warnings_item)

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
            warnings=warnings,
            error=error,
        )

        return recorded_or_error
