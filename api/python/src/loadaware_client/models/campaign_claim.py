from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.campaign_run import CampaignRun


T = TypeVar("T", bound="CampaignClaim")


@_attrs_define
class CampaignClaim:
    """
    Attributes:
        runs (list[CampaignRun]):
        paused (bool):
        stopped (None | str):
        dag_id (str):
        pool (None | str):
        version (None | str):
    """

    runs: list[CampaignRun]
    paused: bool
    stopped: None | str
    dag_id: str
    pool: None | str
    version: None | str

    def to_dict(self) -> dict[str, Any]:
        runs = []
        for runs_item_data in self.runs:
            runs_item = runs_item_data.to_dict()
            runs.append(runs_item)

        paused = self.paused

        stopped: None | str
        stopped = self.stopped

        dag_id = self.dag_id

        pool: None | str
        pool = self.pool

        version: None | str
        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "runs": runs,
                "paused": paused,
                "stopped": stopped,
                "dag_id": dag_id,
                "pool": pool,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_run import CampaignRun

        d = dict(src_dict)
        runs = []
        _runs = d.pop("runs")
        for runs_item_data in _runs:
            runs_item = CampaignRun.from_dict(runs_item_data)

            runs.append(runs_item)

        paused = d.pop("paused")

        def _parse_stopped(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        stopped = _parse_stopped(d.pop("stopped"))

        dag_id = d.pop("dag_id")

        def _parse_pool(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        pool = _parse_pool(d.pop("pool"))

        def _parse_version(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        version = _parse_version(d.pop("version"))

        campaign_claim = cls(
            runs=runs,
            paused=paused,
            stopped=stopped,
            dag_id=dag_id,
            pool=pool,
            version=version,
        )

        return campaign_claim
