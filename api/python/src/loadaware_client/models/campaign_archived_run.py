from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.campaign_archived_run_conf_type_0 import CampaignArchivedRunConfType0


T = TypeVar("T", bound="CampaignArchivedRun")


@_attrs_define
class CampaignArchivedRun:
    """
    Attributes:
        scenario (str): Name of the archived run.
        execution_date (datetime.datetime): Execution date of the archived run, to the second.
        conf (CampaignArchivedRunConfType0 | None | Unset): The conf of the archived DAG run.
    """

    scenario: str
    execution_date: datetime.datetime
    conf: CampaignArchivedRunConfType0 | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.campaign_archived_run_conf_type_0 import (
            CampaignArchivedRunConfType0,
        )

        scenario = self.scenario

        execution_date = self.execution_date.isoformat()

        conf: dict[str, Any] | None | Unset
        if isinstance(self.conf, Unset):
            conf = UNSET
        elif isinstance(self.conf, CampaignArchivedRunConfType0):
            conf = self.conf.to_dict()
        else:
            conf = self.conf

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "scenario": scenario,
                "execution_date": execution_date,
            }
        )
        if conf is not UNSET:
            field_dict["conf"] = conf

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_archived_run_conf_type_0 import (
            CampaignArchivedRunConfType0,
        )

        d = dict(src_dict)
        scenario = d.pop("scenario")

        execution_date = isoparse(d.pop("execution_date"))

        def _parse_conf(data: object) -> CampaignArchivedRunConfType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                conf_type_0 = CampaignArchivedRunConfType0.from_dict(data)

                return conf_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CampaignArchivedRunConfType0 | None | Unset, data)

        conf = _parse_conf(d.pop("conf", UNSET))

        campaign_archived_run = cls(
            scenario=scenario,
            execution_date=execution_date,
            conf=conf,
        )

        return campaign_archived_run
