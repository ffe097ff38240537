from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="Cohort")


@_attrs_define
class Cohort:
    """The other tasks of the namespace from which an answer with the source `cohort` comes. Stored answers do not contain
    it.

        Attributes:
            profile (int | None): Id of the most probable usage profile (`GET /profiles`), 0 for the outlier group; null if
                the namespace has no profiles.
            confidence (float | None): Probability of this profile; null if the namespace has no profiles.
            tasks (int): Number of the other tasks.
            runs (int): Number of their runs.
    """

    profile: int | None
    confidence: float | None
    tasks: int
    runs: int

    def to_dict(self) -> dict[str, Any]:
        profile: int | None
        profile = self.profile

        confidence: float | None
        confidence = self.confidence

        tasks = self.tasks

        runs = self.runs

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "profile": profile,
                "confidence": confidence,
                "tasks": tasks,
                "runs": runs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_profile(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        profile = _parse_profile(d.pop("profile"))

        def _parse_confidence(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        confidence = _parse_confidence(d.pop("confidence"))

        tasks = d.pop("tasks")

        runs = d.pop("runs")

        cohort = cls(
            profile=profile,
            confidence=confidence,
            tasks=tasks,
            runs=runs,
        )

        return cohort
