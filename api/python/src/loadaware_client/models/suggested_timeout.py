from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="SuggestedTimeout")


@_attrs_define
class SuggestedTimeout:
    """
    Attributes:
        seconds (float): The timeout; a healthy run (a run that works normally) exceeds it with the probability `risk`.
        risk (float):
        current_seconds (float | None): The timeout in use: `execution_timeout_seconds` of this request, or of the
            newest prediction request for this task that this replica received with a `run_id` and with this field; null if
            unknown.
    """

    seconds: float
    risk: float
    current_seconds: float | None

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds

        risk = self.risk

        current_seconds: float | None
        current_seconds = self.current_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "seconds": seconds,
                "risk": risk,
                "current_seconds": current_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        seconds = d.pop("seconds")

        risk = d.pop("risk")

        def _parse_current_seconds(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        current_seconds = _parse_current_seconds(d.pop("current_seconds"))

        suggested_timeout = cls(
            seconds=seconds,
            risk=risk,
            current_seconds=current_seconds,
        )

        return suggested_timeout
