from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="PlanStep")


@_attrs_define
class PlanStep:
    """
    Attributes:
        after_seconds (float): Time since the start of the try from which the limit must be in force.
        level_bytes (int): Assumed by the step: largest memory that the run has used up to `ask_by_seconds`.
        memory_bytes (int): Bytes; at most 8Pi.
        ask_by_seconds (float): Latest time since the start of the try to ask for the limit.
    """

    after_seconds: float
    level_bytes: int
    memory_bytes: int
    ask_by_seconds: float

    def to_dict(self) -> dict[str, Any]:
        after_seconds = self.after_seconds

        level_bytes = self.level_bytes

        memory_bytes = self.memory_bytes

        ask_by_seconds = self.ask_by_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "after_seconds": after_seconds,
                "level_bytes": level_bytes,
                "memory_bytes": memory_bytes,
                "ask_by_seconds": ask_by_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        after_seconds = d.pop("after_seconds")

        level_bytes = d.pop("level_bytes")

        memory_bytes = d.pop("memory_bytes")

        ask_by_seconds = d.pop("ask_by_seconds")

        plan_step = cls(
            after_seconds=after_seconds,
            level_bytes=level_bytes,
            memory_bytes=memory_bytes,
            ask_by_seconds=ask_by_seconds,
        )

        return plan_step
