from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.verdict import Verdict

if TYPE_CHECKING:
    from ..models.memory_type_0 import MemoryType0


T = TypeVar("T", bound="Lift")


@_attrs_define
class Lift:
    """
    Attributes:
        retry (bool):
        verdict (Verdict): `lift`: the next try gets a larger allocation. In the modes `shadow` and `off` it gets the
            static request, if known. This amount may be at or below `failed`. All other verdicts mean that there is no
            further try. `at_cap`: the killed try had the cap, or less than 1 % below it. `attempts_exhausted`: the policy
            permits no further lift. `not_memory`: more memory would not help. `leak_suspected`: at least three tries of the
            task in a row were killed at the cap, which suggests a memory leak.
        attempt (int): Number of the next attempt of this run and map index; counts kills, not try numbers.
        attempts_left (int): Number of lifts that remain after this answer.
        memory (MemoryType0 | None): Memory request and limit of the pod.
        shadow (MemoryType0 | None): Memory request and limit of the pod.
        prediction_id (None | str):
        reason (str):
    """

    retry: bool
    verdict: Verdict
    attempt: int
    attempts_left: int
    memory: MemoryType0 | None
    shadow: MemoryType0 | None
    prediction_id: None | str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        from ..models.memory_type_0 import MemoryType0

        retry = self.retry

        verdict = self.verdict.value

        attempt = self.attempt

        attempts_left = self.attempts_left

        memory: dict[str, Any] | None
        if isinstance(self.memory, MemoryType0):
            memory = self.memory.to_dict()
        else:
            memory = self.memory

        shadow: dict[str, Any] | None
        if isinstance(self.shadow, MemoryType0):
            shadow = self.shadow.to_dict()
        else:
            shadow = self.shadow

        prediction_id: None | str
        prediction_id = self.prediction_id

        reason = self.reason

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "retry": retry,
                "verdict": verdict,
                "attempt": attempt,
                "attempts_left": attempts_left,
                "memory": memory,
                "shadow": shadow,
                "prediction_id": prediction_id,
                "reason": reason,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.memory_type_0 import MemoryType0

        d = dict(src_dict)
        retry = d.pop("retry")

        verdict = Verdict(d.pop("verdict"))

        attempt = d.pop("attempt")

        attempts_left = d.pop("attempts_left")

        def _parse_memory(data: object) -> MemoryType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_memory_type_0 = MemoryType0.from_dict(data)

                return componentsschemas_memory_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MemoryType0 | None, data)

        memory = _parse_memory(d.pop("memory"))

        def _parse_shadow(data: object) -> MemoryType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_memory_type_0 = MemoryType0.from_dict(data)

                return componentsschemas_memory_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MemoryType0 | None, data)

        shadow = _parse_shadow(d.pop("shadow"))

        def _parse_prediction_id(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        prediction_id = _parse_prediction_id(d.pop("prediction_id"))

        reason = d.pop("reason")

        lift = cls(
            retry=retry,
            verdict=verdict,
            attempt=attempt,
            attempts_left=attempts_left,
            memory=memory,
            shadow=shadow,
            prediction_id=prediction_id,
            reason=reason,
        )

        return lift
