from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

from ..models.campaign_state import CampaignState

T = TypeVar("T", bound="CampaignCount")


@_attrs_define
class CampaignCount:
    """
    Attributes:
        state (CampaignState): 0: registered. 10, 11, 15, 17: the deployment is claimed by a trigger, running, failed,
            succeeded. 30, 31, 35, 37: the same for the DAG run. 50, 51, 55, 57: the same for profiling.
        name (str): The name of the state.
        runs (int):
    """

    state: CampaignState
    name: str
    runs: int

    def to_dict(self) -> dict[str, Any]:
        state = self.state.value

        name = self.name

        runs = self.runs

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "state": state,
                "name": name,
                "runs": runs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        state = CampaignState(d.pop("state"))

        name = d.pop("name")

        runs = d.pop("runs")

        campaign_count = cls(
            state=state,
            name=name,
            runs=runs,
        )

        return campaign_count
