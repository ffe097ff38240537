from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.warning import Warning_


T = TypeVar("T", bound="Recorded")


@_attrs_define
class Recorded:
    """
    Attributes:
        recorded (bool): The report is stored.
        duplicate (bool): The report was stored before and has no second effect.
        amended (bool): The report added fields that were unknown, or replaced a provisional report.
        warnings (list[Warning_] | Unset): Fields of the report with implausible or unused values; absent if there are
            none.
    """

    recorded: bool
    duplicate: bool
    amended: bool
    warnings: list[Warning_] | Unset = UNSET

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

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
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

        recorded = cls(
            recorded=recorded,
            duplicate=duplicate,
            amended=amended,
            warnings=warnings,
        )

        return recorded
