from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.usage_spread import UsageSpread


T = TypeVar("T", bound="UsageProfile")


@_attrs_define
class UsageProfile:
    """
    Attributes:
        id (int): Stays the same in later versions as long as at least a quarter of the runs of both versions are in
            both; 0 is the outlier group.
        runs (int):
        tasks (int): Tasks with a run in the profile.
        killed (int): OOM-killed runs.
        share (float): Share of all runs.
        previous_share (float | None): Share of all runs in the previous version of the profiles; null if the profile is
            new.
        spreads (list[UsageSpread]): Quantities that a run of the profile reports.
    """

    id: int
    runs: int
    tasks: int
    killed: int
    share: float
    previous_share: float | None
    spreads: list[UsageSpread]

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        runs = self.runs

        tasks = self.tasks

        killed = self.killed

        share = self.share

        previous_share: float | None
        previous_share = self.previous_share

        spreads = []
        for spreads_item_data in self.spreads:
            spreads_item = spreads_item_data.to_dict()
            spreads.append(spreads_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "runs": runs,
                "tasks": tasks,
                "killed": killed,
                "share": share,
                "previous_share": previous_share,
                "spreads": spreads,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.usage_spread import UsageSpread

        d = dict(src_dict)
        id = d.pop("id")

        runs = d.pop("runs")

        tasks = d.pop("tasks")

        killed = d.pop("killed")

        share = d.pop("share")

        def _parse_previous_share(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        previous_share = _parse_previous_share(d.pop("previous_share"))

        spreads = []
        _spreads = d.pop("spreads")
        for spreads_item_data in _spreads:
            spreads_item = UsageSpread.from_dict(spreads_item_data)

            spreads.append(spreads_item)

        usage_profile = cls(
            id=id,
            runs=runs,
            tasks=tasks,
            killed=killed,
            share=share,
            previous_share=previous_share,
            spreads=spreads,
        )

        return usage_profile
