from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="DagFootprint")


@_attrs_define
class DagFootprint:
    """
    Attributes:
        seconds (float): Time since the start of the run.
        memory_bytes (int): Median of the granted memory.
        memory_p95_bytes (int):
    """

    seconds: float
    memory_bytes: int
    memory_p95_bytes: int

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds

        memory_bytes = self.memory_bytes

        memory_p95_bytes = self.memory_p95_bytes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "seconds": seconds,
                "memory_bytes": memory_bytes,
                "memory_p95_bytes": memory_p95_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        seconds = d.pop("seconds")

        memory_bytes = d.pop("memory_bytes")

        memory_p95_bytes = d.pop("memory_p95_bytes")

        dag_footprint = cls(
            seconds=seconds,
            memory_bytes=memory_bytes,
            memory_p95_bytes=memory_p95_bytes,
        )

        return dag_footprint
