from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CampaignReleaseRequest")


@_attrs_define
class CampaignReleaseRequest:
    """
    Attributes:
        stuck_after_seconds (float | None | Unset): 21600 if omitted.
    """

    stuck_after_seconds: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        stuck_after_seconds: float | None | Unset
        if isinstance(self.stuck_after_seconds, Unset):
            stuck_after_seconds = UNSET
        else:
            stuck_after_seconds = self.stuck_after_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if stuck_after_seconds is not UNSET:
            field_dict["stuck_after_seconds"] = stuck_after_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_stuck_after_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        stuck_after_seconds = _parse_stuck_after_seconds(d.pop("stuck_after_seconds", UNSET))

        campaign_release_request = cls(
            stuck_after_seconds=stuck_after_seconds,
        )

        return campaign_release_request
