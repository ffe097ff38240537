from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="NextPhase")


@_attrs_define
class NextPhase:
    """
    Attributes:
        phase (int | None): The phase; null for the end of the run.
        probability (float):
        in_seconds (float): Median time until the next phase or the end of the run, given the time in the current phase;
            0 if no known visit lasted longer.
    """

    phase: int | None
    probability: float
    in_seconds: float

    def to_dict(self) -> dict[str, Any]:
        phase: int | None
        phase = self.phase

        probability = self.probability

        in_seconds = self.in_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "phase": phase,
                "probability": probability,
                "in_seconds": in_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_phase(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        phase = _parse_phase(d.pop("phase"))

        probability = d.pop("probability")

        in_seconds = d.pop("in_seconds")

        next_phase = cls(
            phase=phase,
            probability=probability,
            in_seconds=in_seconds,
        )

        return next_phase
