from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.phases_mode import PhasesMode

if TYPE_CHECKING:
    from ..models.next_phase import NextPhase
    from ..models.remaining_time_type_0 import RemainingTimeType0


T = TypeVar("T", bound="PhaseAnswer")


@_attrs_define
class PhaseAnswer:
    """
    Attributes:
        mode (PhasesMode): `off`: no plans. `observe`: predictions have a plan that no caller follows. `cpu`: the CPU
            request follows the plan. `memory`:
            the CPU request, the memory request and the memory limit follow it.
        version (int | None): Version of what was learned about the runs of the task; null if nothing was learned.
        phase (int | None): The current phase, as in `GET /tasks/{dag_id}/{task_id}/phases`; null if unknown.
        phase_seconds (float | None): Time in the current phase, as far as the samples show.
        next_ (list[NextPhase]): What may follow the current phase, most probable first.
        remaining (None | RemainingTimeType0): Remaining time of a try that has run for `elapsed_seconds`. It is null if
            `elapsed_seconds` is missing or 0; in `POST /phase`, if there is no plan or no learned run took as long.
        memory_bytes (int): Bytes; at most 8Pi.
        cpu_millicores (int | None): CPU request that should be in force, which may be lower than the current one; null:
            leave it unchanged.
        by_seconds (float): Time since the start of the try by which the amounts should be in force.
        ask_again_seconds (float): Time until the next call.
        static_bytes (int | None): The static grant; null if unknown.
        reason (str): Explanation for operators.
    """

    mode: PhasesMode
    version: int | None
    phase: int | None
    phase_seconds: float | None
    next_: list[NextPhase]
    remaining: None | RemainingTimeType0
    memory_bytes: int
    cpu_millicores: int | None
    by_seconds: float
    ask_again_seconds: float
    static_bytes: int | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        from ..models.remaining_time_type_0 import RemainingTimeType0

        mode = self.mode.value

        version: int | None
        version = self.version

        phase: int | None
        phase = self.phase

        phase_seconds: float | None
        phase_seconds = self.phase_seconds

        next_ = []
        for next_item_data in self.next_:
            next_item = next_item_data.to_dict()
            next_.append(next_item)

        remaining: dict[str, Any] | None
        if isinstance(self.remaining, RemainingTimeType0):
            remaining = self.remaining.to_dict()
        else:
            remaining = self.remaining

        memory_bytes = self.memory_bytes

        cpu_millicores: int | None
        cpu_millicores = self.cpu_millicores

        by_seconds = self.by_seconds

        ask_again_seconds = self.ask_again_seconds

        static_bytes: int | None
        static_bytes = self.static_bytes

        reason = self.reason

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "mode": mode,
                "version": version,
                "phase": phase,
                "phase_seconds": phase_seconds,
                "next": next_,
                "remaining": remaining,
                "memory_bytes": memory_bytes,
                "cpu_millicores": cpu_millicores,
                "by_seconds": by_seconds,
                "ask_again_seconds": ask_again_seconds,
                "static_bytes": static_bytes,
                "reason": reason,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.next_phase import NextPhase
        from ..models.remaining_time_type_0 import RemainingTimeType0

        d = dict(src_dict)
        mode = PhasesMode(d.pop("mode"))

        def _parse_version(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        version = _parse_version(d.pop("version"))

        def _parse_phase(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        phase = _parse_phase(d.pop("phase"))

        def _parse_phase_seconds(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        phase_seconds = _parse_phase_seconds(d.pop("phase_seconds"))

        next_ = []
        _next_ = d.pop("next")
        for next_item_data in _next_:
            next_item = NextPhase.from_dict(next_item_data)

            next_.append(next_item)

        def _parse_remaining(data: object) -> None | RemainingTimeType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_remaining_time_type_0 = RemainingTimeType0.from_dict(data)

                return componentsschemas_remaining_time_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RemainingTimeType0, data)

        remaining = _parse_remaining(d.pop("remaining"))

        memory_bytes = d.pop("memory_bytes")

        def _parse_cpu_millicores(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        cpu_millicores = _parse_cpu_millicores(d.pop("cpu_millicores"))

        by_seconds = d.pop("by_seconds")

        ask_again_seconds = d.pop("ask_again_seconds")

        def _parse_static_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        static_bytes = _parse_static_bytes(d.pop("static_bytes"))

        reason = d.pop("reason")

        phase_answer = cls(
            mode=mode,
            version=version,
            phase=phase,
            phase_seconds=phase_seconds,
            next_=next_,
            remaining=remaining,
            memory_bytes=memory_bytes,
            cpu_millicores=cpu_millicores,
            by_seconds=by_seconds,
            ask_again_seconds=ask_again_seconds,
            static_bytes=static_bytes,
            reason=reason,
        )

        return phase_answer
