from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.plan_step import PlanStep


T = TypeVar("T", bound="NextPlanType0")


@_attrs_define
class NextPlanType0:
    """The plan of a run with the newest known static grant; null if no static grant is known, fewer than three runs were
    learned, or their median duration is below ten minutes.

        Attributes:
            rule (str): How the limit follows the usage.
            static_bytes (int): Bytes; at most 8Pi.
            start_bytes (int): Bytes; at most 8Pi.
            promised (float): Probability of a kill of the first try.
            steps (list[PlanStep]):
    """

    rule: str
    static_bytes: int
    start_bytes: int
    promised: float
    steps: list[PlanStep]

    def to_dict(self) -> dict[str, Any]:
        rule = self.rule

        static_bytes = self.static_bytes

        start_bytes = self.start_bytes

        promised = self.promised

        steps = []
        for steps_item_data in self.steps:
            steps_item = steps_item_data.to_dict()
            steps.append(steps_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "rule": rule,
                "static_bytes": static_bytes,
                "start_bytes": start_bytes,
                "promised": promised,
                "steps": steps,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.plan_step import PlanStep

        d = dict(src_dict)
        rule = d.pop("rule")

        static_bytes = d.pop("static_bytes")

        start_bytes = d.pop("start_bytes")

        promised = d.pop("promised")

        steps = []
        _steps = d.pop("steps")
        for steps_item_data in _steps:
            steps_item = PlanStep.from_dict(steps_item_data)

            steps.append(steps_item)

        next_plan_type_0 = cls(
            rule=rule,
            static_bytes=static_bytes,
            start_bytes=start_bytes,
            promised=promised,
            steps=steps,
        )

        return next_plan_type_0
