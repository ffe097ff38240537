from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="CampaignRegistered")


@_attrs_define
class CampaignRegistered:
    """
    Attributes:
        registered (int): Number of new runs.
        already (int): Number of runs that were registered before.
    """

    registered: int
    already: int

    def to_dict(self) -> dict[str, Any]:
        registered = self.registered

        already = self.already

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "registered": registered,
                "already": already,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        registered = d.pop("registered")

        already = d.pop("already")

        campaign_registered = cls(
            registered=registered,
            already=already,
        )

        return campaign_registered
