from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="UsageSeriesType0")


@_attrs_define
class UsageSeriesType0:
    """The usage of a try over time, in equal steps from its start: the first step covers 0 to `step_seconds`. The server
    stores the series with the report, and `GET /tasks/{dag_id}/{task_id}/series` returns it. Plans are learned from it
    if the
    try is a success without `detailed_series`, and the series has ten minutes or more in steps of at most ten minutes.

        Attributes:
            step_seconds (float): Width of a step.
            memory_bytes (list[int]): Peak memory of each step.
            cpu_cores (list[float] | None | Unset): Mean or largest CPU sample of each step; as many values as
                `memory_bytes`.
    """

    step_seconds: float
    memory_bytes: list[int]
    cpu_cores: list[float] | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        step_seconds = self.step_seconds

        memory_bytes = self.memory_bytes

        cpu_cores: list[float] | None | Unset
        if isinstance(self.cpu_cores, Unset):
            cpu_cores = UNSET
        elif isinstance(self.cpu_cores, list):
            cpu_cores = self.cpu_cores

        else:
            cpu_cores = self.cpu_cores

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "step_seconds": step_seconds,
                "memory_bytes": memory_bytes,
            }
        )
        if cpu_cores is not UNSET:
            field_dict["cpu_cores"] = cpu_cores

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        step_seconds = d.pop("step_seconds")

        memory_bytes = cast(list[int], d.pop("memory_bytes"))

        def _parse_cpu_cores(data: object) -> list[float] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                cpu_cores_type_0 = cast(list[float], data)

                return cpu_cores_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None | Unset, data)

        cpu_cores = _parse_cpu_cores(d.pop("cpu_cores", UNSET))

        usage_series_type_0 = cls(
            step_seconds=step_seconds,
            memory_bytes=memory_bytes,
            cpu_cores=cpu_cores,
        )

        return usage_series_type_0
