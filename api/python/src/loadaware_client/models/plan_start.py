from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="PlanStart")


@_attrs_define
class PlanStart:
    """The amounts with which the pod starts in the mode `memory`. In the mode `cpu` only the CPU request applies, and in
    `observe` no amount. An amount that does not apply shows how the pod would start in the mode `memory`.

        Attributes:
            memory_bytes (int): Bytes; at most 8Pi.
            cpu_millicores (int | None): CPU request; null if the prediction has no CPU.
    """

    memory_bytes: int
    cpu_millicores: int | None

    def to_dict(self) -> dict[str, Any]:
        memory_bytes = self.memory_bytes

        cpu_millicores: int | None
        cpu_millicores = self.cpu_millicores

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "memory_bytes": memory_bytes,
                "cpu_millicores": cpu_millicores,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        memory_bytes = d.pop("memory_bytes")

        def _parse_cpu_millicores(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        cpu_millicores = _parse_cpu_millicores(d.pop("cpu_millicores"))

        plan_start = cls(
            memory_bytes=memory_bytes,
            cpu_millicores=cpu_millicores,
        )

        return plan_start
