from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..types import UNSET, Unset

T = TypeVar("T", bound="CampaignBudgetType0")


@_attrs_define
class CampaignBudgetType0:
    """The budget of a campaign. An omitted field, or 0, means no bound.

    Attributes:
        runs (int | None | Unset): Number of DAG runs, repeated attempts included.
        gbh (float | None | Unset): Allocated GB times hours of the reproduced tries; a try without a known allocation
            counts with its request.
        until (datetime.datetime | None | Unset): Time after which no run starts.
    """

    runs: int | None | Unset = UNSET
    gbh: float | None | Unset = UNSET
    until: datetime.datetime | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        runs: int | None | Unset
        if isinstance(self.runs, Unset):
            runs = UNSET
        else:
            runs = self.runs

        gbh: float | None | Unset
        if isinstance(self.gbh, Unset):
            gbh = UNSET
        else:
            gbh = self.gbh

        until: None | str | Unset
        if isinstance(self.until, Unset):
            until = UNSET
        elif isinstance(self.until, datetime.datetime):
            until = self.until.isoformat()
        else:
            until = self.until

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if runs is not UNSET:
            field_dict["runs"] = runs
        if gbh is not UNSET:
            field_dict["gbh"] = gbh
        if until is not UNSET:
            field_dict["until"] = until

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_runs(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        runs = _parse_runs(d.pop("runs", UNSET))

        def _parse_gbh(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        gbh = _parse_gbh(d.pop("gbh", UNSET))

        def _parse_until(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                until_type_0 = isoparse(data)

                return until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        until = _parse_until(d.pop("until", UNSET))

        campaign_budget_type_0 = cls(
            runs=runs,
            gbh=gbh,
            until=until,
        )

        return campaign_budget_type_0
