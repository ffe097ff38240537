from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.plan_cpu_savings_type_0 import PlanCPUSavingsType0


T = TypeVar("T", bound="PlanSavings")


@_attrs_define
class PlanSavings:
    """
    Attributes:
        runs (int): Number of replayed runs: all learned runs except the first, and except those before a static grant
            was known.
        static_gbh (float): Memory limits of the static grants, in GB (1e9 bytes) times hours, including repeated tries.
        plan_gbh (float): Memory limits of the plans.
        share_of_static (float | None): `plan_gbh` divided by `static_gbh`; null without runs.
        static_killed (int): Runs that exceeded the static grant.
        plan_killed (int): Runs that exceeded their planned limit.
        cpu (None | PlanCPUSavingsType0): The CPU requests of the plans; null without runs with CPU in their series and
            a CPU request.
    """

    runs: int
    static_gbh: float
    plan_gbh: float
    share_of_static: float | None
    static_killed: int
    plan_killed: int
    cpu: None | PlanCPUSavingsType0

    def to_dict(self) -> dict[str, Any]:
        from ..models.plan_cpu_savings_type_0 import PlanCPUSavingsType0

        runs = self.runs

        static_gbh = self.static_gbh

        plan_gbh = self.plan_gbh

        share_of_static: float | None
        share_of_static = self.share_of_static

        static_killed = self.static_killed

        plan_killed = self.plan_killed

        cpu: dict[str, Any] | None
        if isinstance(self.cpu, PlanCPUSavingsType0):
            cpu = self.cpu.to_dict()
        else:
            cpu = self.cpu

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "runs": runs,
                "static_gbh": static_gbh,
                "plan_gbh": plan_gbh,
                "share_of_static": share_of_static,
                "static_killed": static_killed,
                "plan_killed": plan_killed,
                "cpu": cpu,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.plan_cpu_savings_type_0 import PlanCPUSavingsType0

        d = dict(src_dict)
        runs = d.pop("runs")

        static_gbh = d.pop("static_gbh")

        plan_gbh = d.pop("plan_gbh")

        def _parse_share_of_static(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        share_of_static = _parse_share_of_static(d.pop("share_of_static"))

        static_killed = d.pop("static_killed")

        plan_killed = d.pop("plan_killed")

        def _parse_cpu(data: object) -> None | PlanCPUSavingsType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_plan_cpu_savings_type_0 = PlanCPUSavingsType0.from_dict(data)

                return componentsschemas_plan_cpu_savings_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PlanCPUSavingsType0, data)

        cpu = _parse_cpu(d.pop("cpu"))

        plan_savings = cls(
            runs=runs,
            static_gbh=static_gbh,
            plan_gbh=plan_gbh,
            share_of_static=share_of_static,
            static_killed=static_killed,
            plan_killed=plan_killed,
            cpu=cpu,
        )

        return plan_savings
