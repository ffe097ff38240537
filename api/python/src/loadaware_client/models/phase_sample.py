from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="PhaseSample")


@_attrs_define
class PhaseSample:
    """
    Attributes:
        seconds (float): Time since the start of the try.
        memory_bytes (int):
        cpu_cores (float | None | Unset): CPU use since the previous sample.
    """

    seconds: float
    memory_bytes: int
    cpu_cores: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds

        memory_bytes = self.memory_bytes

        cpu_cores: float | None | Unset
        if isinstance(self.cpu_cores, Unset):
            cpu_cores = UNSET
        else:
            cpu_cores = self.cpu_cores

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "seconds": seconds,
                "memory_bytes": memory_bytes,
            }
        )
        if cpu_cores is not UNSET:
            field_dict["cpu_cores"] = cpu_cores

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        seconds = d.pop("seconds")

        memory_bytes = d.pop("memory_bytes")

        def _parse_cpu_cores(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cpu_cores = _parse_cpu_cores(d.pop("cpu_cores", UNSET))

        phase_sample = cls(
            seconds=seconds,
            memory_bytes=memory_bytes,
            cpu_cores=cpu_cores,
        )

        return phase_sample
