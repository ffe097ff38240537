from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ResourcesType0")


@_attrs_define
class ResourcesType0:
    """Memory and CPU, each as a number or as a quantity.

    Example:
        {'memory': '350Gi', 'cpu': '6'}

    Attributes:
        memory_bytes (int | None | Unset):
        memory (None | str | Unset):
        cpu_cores (float | None | Unset):
        cpu (None | str | Unset):
    """

    memory_bytes: int | None | Unset = UNSET
    memory: None | str | Unset = UNSET
    cpu_cores: float | None | Unset = UNSET
    cpu: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        memory_bytes: int | None | Unset
        if isinstance(self.memory_bytes, Unset):
            memory_bytes = UNSET
        else:
            memory_bytes = self.memory_bytes

        memory: None | str | Unset
        if isinstance(self.memory, Unset):
            memory = UNSET
        else:
            memory = self.memory

        cpu_cores: float | None | Unset
        if isinstance(self.cpu_cores, Unset):
            cpu_cores = UNSET
        else:
            cpu_cores = self.cpu_cores

        cpu: None | str | Unset
        if isinstance(self.cpu, Unset):
            cpu = UNSET
        else:
            cpu = self.cpu

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if memory_bytes is not UNSET:
            field_dict["memory_bytes"] = memory_bytes
        if memory is not UNSET:
            field_dict["memory"] = memory
        if cpu_cores is not UNSET:
            field_dict["cpu_cores"] = cpu_cores
        if cpu is not UNSET:
            field_dict["cpu"] = cpu

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_memory_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_bytes = _parse_memory_bytes(d.pop("memory_bytes", UNSET))

        def _parse_memory(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        memory = _parse_memory(d.pop("memory", UNSET))

        def _parse_cpu_cores(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cpu_cores = _parse_cpu_cores(d.pop("cpu_cores", UNSET))

        def _parse_cpu(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        cpu = _parse_cpu(d.pop("cpu", UNSET))

        resources_type_0 = cls(
            memory_bytes=memory_bytes,
            memory=memory,
            cpu_cores=cpu_cores,
            cpu=cpu,
        )

        return resources_type_0
