from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ExecutedResize")


@_attrs_define
class ExecutedResize:
    """
    Attributes:
        seconds (float): Time since the start of the try at which the resize was requested.
        result (str): Such as `applied`, `deferred`, `infeasible`, `refused` or `unsupported`.
        memory_bytes (int | None | Unset): New memory limit; null if unchanged.
        cpu_millicores (int | None | Unset): New CPU request; null if unchanged.
        in_force_seconds (float | None | Unset): Time since the start of the try at which the resize was in force; null
            if it never was or if this is unknown.
    """

    seconds: float
    result: str
    memory_bytes: int | None | Unset = UNSET
    cpu_millicores: int | None | Unset = UNSET
    in_force_seconds: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds

        result = self.result

        memory_bytes: int | None | Unset
        if isinstance(self.memory_bytes, Unset):
            memory_bytes = UNSET
        else:
            memory_bytes = self.memory_bytes

        cpu_millicores: int | None | Unset
        if isinstance(self.cpu_millicores, Unset):
            cpu_millicores = UNSET
        else:
            cpu_millicores = self.cpu_millicores

        in_force_seconds: float | None | Unset
        if isinstance(self.in_force_seconds, Unset):
            in_force_seconds = UNSET
        else:
            in_force_seconds = self.in_force_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "seconds": seconds,
                "result": result,
            }
        )
        if memory_bytes is not UNSET:
            field_dict["memory_bytes"] = memory_bytes
        if cpu_millicores is not UNSET:
            field_dict["cpu_millicores"] = cpu_millicores
        if in_force_seconds is not UNSET:
            field_dict["in_force_seconds"] = in_force_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        seconds = d.pop("seconds")

        result = d.pop("result")

        def _parse_memory_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_bytes = _parse_memory_bytes(d.pop("memory_bytes", UNSET))

        def _parse_cpu_millicores(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        cpu_millicores = _parse_cpu_millicores(d.pop("cpu_millicores", UNSET))

        def _parse_in_force_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        in_force_seconds = _parse_in_force_seconds(d.pop("in_force_seconds", UNSET))

        executed_resize = cls(
            seconds=seconds,
            result=result,
            memory_bytes=memory_bytes,
            cpu_millicores=cpu_millicores,
            in_force_seconds=in_force_seconds,
        )

        return executed_resize
