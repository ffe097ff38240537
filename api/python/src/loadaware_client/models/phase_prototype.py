from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="PhasePrototype")


@_attrs_define
class PhasePrototype:
    """
    Attributes:
        phases (list[int]):
        runs (int):
        share (float): Share of the runs.
    """

    phases: list[int]
    runs: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        phases = self.phases

        runs = self.runs

        share = self.share

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "phases": phases,
                "runs": runs,
                "share": share,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        phases = cast(list[int], d.pop("phases"))

        runs = d.pop("runs")

        share = d.pop("share")

        phase_prototype = cls(
            phases=phases,
            runs=runs,
            share=share,
        )

        return phase_prototype
