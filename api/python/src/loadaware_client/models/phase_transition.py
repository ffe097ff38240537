from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="PhaseTransition")


@_attrs_define
class PhaseTransition:
    """
    Attributes:
        phase (int | None): The next phase; null for the end of the run.
        probability (float):
    """

    phase: int | None
    probability: float

    def to_dict(self) -> dict[str, Any]:
        phase: int | None
        phase = self.phase

        probability = self.probability

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "phase": phase,
                "probability": probability,
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

        phase_transition = cls(
            phase=phase,
            probability=probability,
        )

        return phase_transition
