from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="GPUMemory")


@_attrs_define
class GPUMemory:
    """Predicted peak of the GPU memory of a task without history, from its usage profiles. Absent if it is unknown, or if
    the task probably uses none; stored answers do not contain it.

        Attributes:
            median_bytes (int): Bytes; at most 8Pi.
            p95_bytes (int): Bytes; at most 8Pi.
    """

    median_bytes: int
    p95_bytes: int

    def to_dict(self) -> dict[str, Any]:
        median_bytes = self.median_bytes

        p95_bytes = self.p95_bytes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "median_bytes": median_bytes,
                "p95_bytes": p95_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        median_bytes = d.pop("median_bytes")

        p95_bytes = d.pop("p95_bytes")

        gpu_memory = cls(
            median_bytes=median_bytes,
            p95_bytes=p95_bytes,
        )

        return gpu_memory
