from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="ExperimentSaved")


@_attrs_define
class ExperimentSaved:
    """
    Attributes:
        saved (bool): False for a dry run.
        id (int | None):
    """

    saved: bool
    id: int | None

    def to_dict(self) -> dict[str, Any]:
        saved = self.saved

        id: int | None
        id = self.id

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "saved": saved,
                "id": id,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        saved = d.pop("saved")

        def _parse_id(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        id = _parse_id(d.pop("id"))

        experiment_saved = cls(
            saved=saved,
            id=id,
        )

        return experiment_saved
