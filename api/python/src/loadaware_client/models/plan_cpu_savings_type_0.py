from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="PlanCPUSavingsType0")


@_attrs_define
class PlanCPUSavingsType0:
    """The CPU requests of the plans; null without runs with CPU in their series and a CPU request.

    Attributes:
        runs (int):
        static_core_hours (float):
        plan_core_hours (float):
        short_percent (float): Percentage of the time in which the use exceeded the planned request.
    """

    runs: int
    static_core_hours: float
    plan_core_hours: float
    short_percent: float

    def to_dict(self) -> dict[str, Any]:
        runs = self.runs

        static_core_hours = self.static_core_hours

        plan_core_hours = self.plan_core_hours

        short_percent = self.short_percent

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "runs": runs,
                "static_core_hours": static_core_hours,
                "plan_core_hours": plan_core_hours,
                "short_percent": short_percent,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        runs = d.pop("runs")

        static_core_hours = d.pop("static_core_hours")

        plan_core_hours = d.pop("plan_core_hours")

        short_percent = d.pop("short_percent")

        plan_cpu_savings_type_0 = cls(
            runs=runs,
            static_core_hours=static_core_hours,
            plan_core_hours=plan_core_hours,
            short_percent=short_percent,
        )

        return plan_cpu_savings_type_0
