from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.campaign_archived_run import CampaignArchivedRun


T = TypeVar("T", bound="CampaignRunsRequest")


@_attrs_define
class CampaignRunsRequest:
    """
    Attributes:
        runs (list[CampaignArchivedRun]):
    """

    runs: list[CampaignArchivedRun]

    def to_dict(self) -> dict[str, Any]:
        runs = []
        for runs_item_data in self.runs:
            runs_item = runs_item_data.to_dict()
            runs.append(runs_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "runs": runs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_archived_run import CampaignArchivedRun

        d = dict(src_dict)
        runs = []
        _runs = d.pop("runs")
        for runs_item_data in _runs:
            runs_item = CampaignArchivedRun.from_dict(runs_item_data)

            runs.append(runs_item)

        campaign_runs_request = cls(
            runs=runs,
        )

        return campaign_runs_request
