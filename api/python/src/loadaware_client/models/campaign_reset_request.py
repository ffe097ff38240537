from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.campaign_state import CampaignState
from ..types import UNSET, Unset

T = TypeVar("T", bound="CampaignResetRequest")


@_attrs_define
class CampaignResetRequest:
    """
    Attributes:
        to (CampaignState): 0: registered. Deployment: 10 claimed by a trigger, 11 running, 15 failed, 17 succeeded. DAG
            run: 30 claimed by a trigger, 31 running, 35 failed, 37 succeeded. Profiling: 50 claimed by a trigger, 51
            running, 55 failed, 57 succeeded.
        notes (None | str | Unset):
    """

    to: CampaignState
    notes: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        to = self.to.value

        notes: None | str | Unset
        if isinstance(self.notes, Unset):
            notes = UNSET
        else:
            notes = self.notes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "to": to,
            }
        )
        if notes is not UNSET:
            field_dict["notes"] = notes

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        to = CampaignState(d.pop("to"))

        def _parse_notes(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        notes = _parse_notes(d.pop("notes", UNSET))

        campaign_reset_request = cls(
            to=to,
            notes=notes,
        )

        return campaign_reset_request
