from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.phases_mode import PhasesMode

if TYPE_CHECKING:
    from ..models.plan_start import PlanStart
    from ..models.plan_step import PlanStep


T = TypeVar("T", bound="Plan")


@_attrs_define
class Plan:
    """Amounts that grow during the run, for callers that can resize a pod. The plan is absent if the policy does not set
    `phases`, in the modes `shadow` and `off`, after an OOM kill of the run, or if fewer than three runs were learned or
    their median duration is below ten minutes. `memory` of the prediction stays the static grant: a caller that does
    not
    resize, or can no longer do so, uses it.

        Attributes:
            version (int): Version of what was learned about the runs of the task.
            mode (PhasesMode): `off`: no plans. `observe`: predictions have a plan that no caller follows. `cpu`: the CPU
                request follows the plan. `memory`:
                the CPU request, the memory request and the memory limit follow it.
            start (PlanStart): The amounts with which the pod starts in the mode `memory`. In the mode `cpu` only the CPU
                request applies, and in `observe` no amount. An amount that does not apply shows how the pod would start in the
                mode `memory`.
            static_bytes (int): Bytes; at most 8Pi.
            steps (list[PlanStep]): The expected limits, in order of time. `POST /phase` adapts them to the usage of the
                run. A caller that follows them without `POST /phase` does not notice if the memory of the run grows sooner than
                expected.
            promised (float | None): Probability that a first try which follows the plan is killed; null if unknown.
            poll_seconds (float): Assumed by the plan: time between two reads of the usage.
            reaction_seconds (float): Assumed by the plan: time from a read of the usage until a new limit is in force.
    """

    version: int
    mode: PhasesMode
    start: PlanStart
    static_bytes: int
    steps: list[PlanStep]
    promised: float | None
    poll_seconds: float
    reaction_seconds: float

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        mode = self.mode.value

        start = self.start.to_dict()

        static_bytes = self.static_bytes

        steps = []
        for steps_item_data in self.steps:
            steps_item = steps_item_data.to_dict()
            steps.append(steps_item)

        promised: float | None
        promised = self.promised

        poll_seconds = self.poll_seconds

        reaction_seconds = self.reaction_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "version": version,
                "mode": mode,
                "start": start,
                "static_bytes": static_bytes,
                "steps": steps,
                "promised": promised,
                "poll_seconds": poll_seconds,
                "reaction_seconds": reaction_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.plan_start import PlanStart
        from ..models.plan_step import PlanStep

        d = dict(src_dict)
        version = d.pop("version")

        mode = PhasesMode(d.pop("mode"))

        start = PlanStart.from_dict(d.pop("start"))

        static_bytes = d.pop("static_bytes")

        steps = []
        _steps = d.pop("steps")
        for steps_item_data in _steps:
            steps_item = PlanStep.from_dict(steps_item_data)

            steps.append(steps_item)

        def _parse_promised(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        promised = _parse_promised(d.pop("promised"))

        poll_seconds = d.pop("poll_seconds")

        reaction_seconds = d.pop("reaction_seconds")

        plan = cls(
            version=version,
            mode=mode,
            start=start,
            static_bytes=static_bytes,
            steps=steps,
            promised=promised,
            poll_seconds=poll_seconds,
            reaction_seconds=reaction_seconds,
        )

        return plan
