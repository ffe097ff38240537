from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.campaign_run import CampaignRun


T = TypeVar("T", bound="CampaignRelease")


@_attrs_define
class CampaignRelease:
    """
    Attributes:
        released (int):
        stuck (list[CampaignRun]):
    """

    released: int
    stuck: list[CampaignRun]

    def to_dict(self) -> dict[str, Any]:
        released = self.released

        stuck = []
        for stuck_item_data in self.stuck:
            stuck_item = stuck_item_data.to_dict()
            stuck.append(stuck_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "released": released,
                "stuck": stuck,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_run import CampaignRun

        d = dict(src_dict)
        released = d.pop("released")

        stuck = []
        _stuck = d.pop("stuck")
        for stuck_item_data in _stuck:
            stuck_item = CampaignRun.from_dict(stuck_item_data)

            stuck.append(stuck_item)

        campaign_release = cls(
            released=released,
            stuck=stuck,
        )

        return campaign_release
