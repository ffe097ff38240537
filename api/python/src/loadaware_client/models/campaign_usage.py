from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="CampaignUsage")


@_attrs_define
class CampaignUsage:
    """The part of the budget that a campaign has used.

    Attributes:
        runs (int): DAG runs, repeated attempts included.
        gbh (float): Allocated GB times hours of the reproduced tries; a try without a known allocation counts with its
            request.
    """

    runs: int
    gbh: float

    def to_dict(self) -> dict[str, Any]:
        runs = self.runs

        gbh = self.gbh

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "runs": runs,
                "gbh": gbh,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        runs = d.pop("runs")

        gbh = d.pop("gbh")

        campaign_usage = cls(
            runs=runs,
            gbh=gbh,
        )

        return campaign_usage
