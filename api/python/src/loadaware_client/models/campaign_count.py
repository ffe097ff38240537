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
        state (CampaignState): 0: registered. Deployment: 10 claimed by a trigger, 11 running, 15 failed, 17 succeeded.
            DAG run: 30 claimed by a trigger, 31 running, 35 failed, 37 succeeded. Profiling: 50 claimed by a trigger, 51
            running, 55 failed, 57 succeeded.
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
