from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.campaign_branch import CampaignBranch
from ..types import UNSET, Unset

T = TypeVar("T", bound="CampaignClaimRequest")


@_attrs_define
class CampaignClaimRequest:
    """
    Attributes:
        branch (CampaignBranch): A trigger, which starts one of the steps deployment, DAG run and profiling, or a check,
            which waits for its end. The scheduler DAG has one task for each.
        limit (int): For a check, the largest number of claimed runs. For a trigger, the largest number of runs that all
            workers together may have in the step.
        lease_seconds (float | None | Unset): 300 if omitted.
    """

    branch: CampaignBranch
    limit: int
    lease_seconds: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        branch = self.branch.value

        limit = self.limit

        lease_seconds: float | None | Unset
        if isinstance(self.lease_seconds, Unset):
            lease_seconds = UNSET
        else:
            lease_seconds = self.lease_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "branch": branch,
                "limit": limit,
            }
        )
        if lease_seconds is not UNSET:
            field_dict["lease_seconds"] = lease_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        branch = CampaignBranch(d.pop("branch"))

        limit = d.pop("limit")

        def _parse_lease_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        lease_seconds = _parse_lease_seconds(d.pop("lease_seconds", UNSET))

        campaign_claim_request = cls(
            branch=branch,
            limit=limit,
            lease_seconds=lease_seconds,
        )

        return campaign_claim_request
