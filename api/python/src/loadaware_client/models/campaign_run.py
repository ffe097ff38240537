from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..models.campaign_state import CampaignState

if TYPE_CHECKING:
    from ..models.campaign_run_conf_type_0 import CampaignRunConfType0


T = TypeVar("T", bound="CampaignRun")


@_attrs_define
class CampaignRun:
    """
    Attributes:
        n (int): Number of the run in its campaign.
        scenario (str): Name of the archived run.
        execution_date (datetime.datetime):
        conf (CampaignRunConfType0 | None): The conf of the archived run. In a claim, the conf of the campaign already
            overrides it.
        state (CampaignState): 0: registered. Deployment: 10 claimed by a trigger, 11 running, 15 failed, 17 succeeded.
            DAG run: 30 claimed by a trigger, 31 running, 35 failed, 37 succeeded. Profiling: 50 claimed by a trigger, 51
            running, 55 failed, 57 succeeded.
        state_name (str):
        attempt (int):
        dag_run_id (str): The run id of the DAG run; it does not change if a trigger repeats the attempt.
        leased_until (datetime.datetime | None):
        notes (None | str):
        changed_at (datetime.datetime):
    """

    n: int
    scenario: str
    execution_date: datetime.datetime
    conf: CampaignRunConfType0 | None
    state: CampaignState
    state_name: str
    attempt: int
    dag_run_id: str
    leased_until: datetime.datetime | None
    notes: None | str
    changed_at: datetime.datetime

    def to_dict(self) -> dict[str, Any]:
        from ..models.campaign_run_conf_type_0 import CampaignRunConfType0

        n = self.n

        scenario = self.scenario

        execution_date = self.execution_date.isoformat()

        conf: dict[str, Any] | None
        if isinstance(self.conf, CampaignRunConfType0):
            conf = self.conf.to_dict()
        else:
            conf = self.conf

        state = self.state.value

        state_name = self.state_name

        attempt = self.attempt

        dag_run_id = self.dag_run_id

        leased_until: None | str
        if isinstance(self.leased_until, datetime.datetime):
            leased_until = self.leased_until.isoformat()
        else:
            leased_until = self.leased_until

        notes: None | str
        notes = self.notes

        changed_at = self.changed_at.isoformat()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "n": n,
                "scenario": scenario,
                "execution_date": execution_date,
                "conf": conf,
                "state": state,
                "state_name": state_name,
                "attempt": attempt,
                "dag_run_id": dag_run_id,
                "leased_until": leased_until,
                "notes": notes,
                "changed_at": changed_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_run_conf_type_0 import CampaignRunConfType0

        d = dict(src_dict)
        n = d.pop("n")

        scenario = d.pop("scenario")

        execution_date = isoparse(d.pop("execution_date"))

        def _parse_conf(data: object) -> CampaignRunConfType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                conf_type_0 = CampaignRunConfType0.from_dict(data)

                return conf_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CampaignRunConfType0 | None, data)

        conf = _parse_conf(d.pop("conf"))

        state = CampaignState(d.pop("state"))

        state_name = d.pop("state_name")

        attempt = d.pop("attempt")

        dag_run_id = d.pop("dag_run_id")

        def _parse_leased_until(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                leased_until_type_0 = isoparse(data)

                return leased_until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        leased_until = _parse_leased_until(d.pop("leased_until"))

        def _parse_notes(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        notes = _parse_notes(d.pop("notes"))

        changed_at = isoparse(d.pop("changed_at"))

        campaign_run = cls(
            n=n,
            scenario=scenario,
            execution_date=execution_date,
            conf=conf,
            state=state,
            state_name=state_name,
            attempt=attempt,
            dag_run_id=dag_run_id,
            leased_until=leased_until,
            notes=notes,
            changed_at=changed_at,
        )

        return campaign_run
