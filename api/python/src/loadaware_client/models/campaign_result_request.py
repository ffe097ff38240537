from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.campaign_state import CampaignState
from ..types import UNSET, Unset

T = TypeVar("T", bound="CampaignResultRequest")


@_attrs_define
class CampaignResultRequest:
    """
    Attributes:
        from_ (CampaignState): 0: registered. Deployment: 10 claimed by a trigger, 11 running, 15 failed, 17 succeeded.
            DAG run: 30 claimed by a trigger, 31 running, 35 failed, 37 succeeded. Profiling: 50 claimed by a trigger, 51
            running, 55 failed, 57 succeeded.
        to (CampaignState): 0: registered. Deployment: 10 claimed by a trigger, 11 running, 15 failed, 17 succeeded. DAG
            run: 30 claimed by a trigger, 31 running, 35 failed, 37 succeeded. Profiling: 50 claimed by a trigger, 51
            running, 55 failed, 57 succeeded.
        attempt (int | None | Unset): The attempt that the step belongs to; the answer is 409 if the run is in another
            attempt.
        notes (None | str | Unset): The cause of a failure, or the result of a check; cut after 2,000 characters.
    """

    from_: CampaignState
    to: CampaignState
    attempt: int | None | Unset = UNSET
    notes: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from_ = self.from_.value

        to = self.to.value

        attempt: int | None | Unset
        if isinstance(self.attempt, Unset):
            attempt = UNSET
        else:
            attempt = self.attempt

        notes: None | str | Unset
        if isinstance(self.notes, Unset):
            notes = UNSET
        else:
            notes = self.notes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "from": from_,
                "to": to,
            }
        )
        if attempt is not UNSET:
            field_dict["attempt"] = attempt
        if notes is not UNSET:
            field_dict["notes"] = notes

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        from_ = CampaignState(d.pop("from"))

        to = CampaignState(d.pop("to"))

        def _parse_attempt(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        attempt = _parse_attempt(d.pop("attempt", UNSET))

        def _parse_notes(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        notes = _parse_notes(d.pop("notes", UNSET))

        campaign_result_request = cls(
            from_=from_,
            to=to,
            attempt=attempt,
            notes=notes,
        )

        return campaign_result_request
