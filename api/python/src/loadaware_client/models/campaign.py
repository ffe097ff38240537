from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.campaign_budget_type_0 import CampaignBudgetType0
    from ..models.campaign_conf_type_0 import CampaignConfType0
    from ..models.campaign_count import CampaignCount
    from ..models.campaign_run import CampaignRun
    from ..models.campaign_usage import CampaignUsage


T = TypeVar("T", bound="Campaign")


@_attrs_define
class Campaign:
    """
    Attributes:
        id (int):
        name (str):
        namespace (str):
        dag_id (str):
        pool (None | str):
        conf (CampaignConfType0 | None):
        version (None | str):
        budget (CampaignBudgetType0 | None): The budget of a campaign. An omitted field, or 0, means no bound.
        used (CampaignUsage): The part of the budget that a campaign has used.
        paused (bool):
        stopped (None | str): Which bound of the budget ended the campaign; null if none did.
        created_at (datetime.datetime):
        created_by (str):
        runs (int): Registered runs.
        states (list[CampaignCount]): The number of runs in every state, in the order of the states.
        progress (float): The share of runs that are profiled.
        profiled_last_hour (int):
        failures (list[CampaignRun]): The newest failed runs, which wait for a reset.
    """

    id: int
    name: str
    namespace: str
    dag_id: str
    pool: None | str
    conf: CampaignConfType0 | None
    version: None | str
    budget: CampaignBudgetType0 | None
    used: CampaignUsage
    paused: bool
    stopped: None | str
    created_at: datetime.datetime
    created_by: str
    runs: int
    states: list[CampaignCount]
    progress: float
    profiled_last_hour: int
    failures: list[CampaignRun]

    def to_dict(self) -> dict[str, Any]:
        from ..models.campaign_budget_type_0 import CampaignBudgetType0
        from ..models.campaign_conf_type_0 import CampaignConfType0

        id = self.id

        name = self.name

        namespace = self.namespace

        dag_id = self.dag_id

        pool: None | str
        pool = self.pool

        conf: dict[str, Any] | None
        if isinstance(self.conf, CampaignConfType0):
            conf = self.conf.to_dict()
        else:
            conf = self.conf

        version: None | str
        version = self.version

        budget: dict[str, Any] | None
        if isinstance(self.budget, CampaignBudgetType0):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        used = self.used.to_dict()

        paused = self.paused

        stopped: None | str
        stopped = self.stopped

        created_at = self.created_at.isoformat()

        created_by = self.created_by

        runs = self.runs

        states = []
        for states_item_data in self.states:
            states_item = states_item_data.to_dict()
            states.append(states_item)

        progress = self.progress

        profiled_last_hour = self.profiled_last_hour

        failures = []
        for failures_item_data in self.failures:
            failures_item = failures_item_data.to_dict()
            failures.append(failures_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "name": name,
                "namespace": namespace,
                "dag_id": dag_id,
                "pool": pool,
                "conf": conf,
                "version": version,
                "budget": budget,
                "used": used,
                "paused": paused,
                "stopped": stopped,
                "created_at": created_at,
                "created_by": created_by,
                "runs": runs,
                "states": states,
                "progress": progress,
                "profiled_last_hour": profiled_last_hour,
                "failures": failures,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_budget_type_0 import CampaignBudgetType0
        from ..models.campaign_conf_type_0 import CampaignConfType0
        from ..models.campaign_count import CampaignCount
        from ..models.campaign_run import CampaignRun
        from ..models.campaign_usage import CampaignUsage

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        def _parse_pool(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        pool = _parse_pool(d.pop("pool"))

        def _parse_conf(data: object) -> CampaignConfType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                conf_type_0 = CampaignConfType0.from_dict(data)

                return conf_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CampaignConfType0 | None, data)

        conf = _parse_conf(d.pop("conf"))

        def _parse_version(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        version = _parse_version(d.pop("version"))

        def _parse_budget(data: object) -> CampaignBudgetType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_campaign_budget_type_0 = CampaignBudgetType0.from_dict(data)

                return componentsschemas_campaign_budget_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CampaignBudgetType0 | None, data)

        budget = _parse_budget(d.pop("budget"))

        used = CampaignUsage.from_dict(d.pop("used"))

        paused = d.pop("paused")

        def _parse_stopped(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        stopped = _parse_stopped(d.pop("stopped"))

        created_at = isoparse(d.pop("created_at"))

        created_by = d.pop("created_by")

        runs = d.pop("runs")

        states = []
        _states = d.pop("states")
        for states_item_data in _states:
            states_item = CampaignCount.from_dict(states_item_data)

            states.append(states_item)

        progress = d.pop("progress")

        profiled_last_hour = d.pop("profiled_last_hour")

        failures = []
        _failures = d.pop("failures")
        for failures_item_data in _failures:
            failures_item = CampaignRun.from_dict(failures_item_data)

            failures.append(failures_item)

        campaign = cls(
            id=id,
            name=name,
            namespace=namespace,
            dag_id=dag_id,
            pool=pool,
            conf=conf,
            version=version,
            budget=budget,
            used=used,
            paused=paused,
            stopped=stopped,
            created_at=created_at,
            created_by=created_by,
            runs=runs,
            states=states,
            progress=progress,
            profiled_last_hour=profiled_last_hour,
            failures=failures,
        )

        return campaign
