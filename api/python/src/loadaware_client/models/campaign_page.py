from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.campaign import Campaign


T = TypeVar("T", bound="CampaignPage")


@_attrs_define
class CampaignPage:
    """
    Attributes:
        campaigns (list[Campaign]): The campaigns without their failures.
        next_cursor (None | str):
    """

    campaigns: list[Campaign]
    next_cursor: None | str

    def to_dict(self) -> dict[str, Any]:
        campaigns = []
        for campaigns_item_data in self.campaigns:
            campaigns_item = campaigns_item_data.to_dict()
            campaigns.append(campaigns_item)

        next_cursor: None | str
        next_cursor = self.next_cursor

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "campaigns": campaigns,
                "next_cursor": next_cursor,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign import Campaign

        d = dict(src_dict)
        campaigns = []
        _campaigns = d.pop("campaigns")
        for campaigns_item_data in _campaigns:
            campaigns_item = Campaign.from_dict(campaigns_item_data)

            campaigns.append(campaigns_item)

        def _parse_next_cursor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_cursor = _parse_next_cursor(d.pop("next_cursor"))

        campaign_page = cls(
            campaigns=campaigns,
            next_cursor=next_cursor,
        )

        return campaign_page
