from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="TaskUsageProfile")


@_attrs_define
class TaskUsageProfile:
    """The most frequent usage profile among the runs of the task; absent before the namespace has profiles.

    Attributes:
        id (int): Id for `GET /profiles/{profile_id}`; 0 is the outlier group.
        version (int): Version of the profiles of the namespace.
        share (float): Share of the runs of the task in the profile.
    """

    id: int
    version: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        version = self.version

        share = self.share

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "version": version,
                "share": share,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        version = d.pop("version")

        share = d.pop("share")

        task_usage_profile = cls(
            id=id,
            version=version,
            share=share,
        )

        return task_usage_profile
