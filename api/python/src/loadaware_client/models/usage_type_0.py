from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="UsageType0")


@_attrs_define
class UsageType0:
    """The usage of the try apart from its peaks. A value out of range is ignored with a warning.

    Example:
        {'memory_mean_bytes': 2147483648, 'cpu_mean_cores': 0.8}

    Attributes:
        memory_mean_bytes (float | None | Unset): Mean memory.
        cpu_mean_cores (float | None | Unset): Mean CPU.
        read_bytes (float | None | Unset): Bytes read.
        written_bytes (float | None | Unset): Bytes written.
        gpu_memory_max_bytes (float | None | Unset): Peak GPU memory. A try that reports other usage without it used
            none.
        gpu_utilisation_mean (float | None | Unset): Mean GPU utilisation; 1 is one GPU in full use.
    """

    memory_mean_bytes: float | None | Unset = UNSET
    cpu_mean_cores: float | None | Unset = UNSET
    read_bytes: float | None | Unset = UNSET
    written_bytes: float | None | Unset = UNSET
    gpu_memory_max_bytes: float | None | Unset = UNSET
    gpu_utilisation_mean: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        memory_mean_bytes: float | None | Unset
        if isinstance(self.memory_mean_bytes, Unset):
            memory_mean_bytes = UNSET
        else:
            memory_mean_bytes = self.memory_mean_bytes

        cpu_mean_cores: float | None | Unset
        if isinstance(self.cpu_mean_cores, Unset):
            cpu_mean_cores = UNSET
        else:
            cpu_mean_cores = self.cpu_mean_cores

        read_bytes: float | None | Unset
        if isinstance(self.read_bytes, Unset):
            read_bytes = UNSET
        else:
            read_bytes = self.read_bytes

        written_bytes: float | None | Unset
        if isinstance(self.written_bytes, Unset):
            written_bytes = UNSET
        else:
            written_bytes = self.written_bytes

        gpu_memory_max_bytes: float | None | Unset
        if isinstance(self.gpu_memory_max_bytes, Unset):
            gpu_memory_max_bytes = UNSET
        else:
            gpu_memory_max_bytes = self.gpu_memory_max_bytes

        gpu_utilisation_mean: float | None | Unset
        if isinstance(self.gpu_utilisation_mean, Unset):
            gpu_utilisation_mean = UNSET
        else:
            gpu_utilisation_mean = self.gpu_utilisation_mean

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if memory_mean_bytes is not UNSET:
            field_dict["memory_mean_bytes"] = memory_mean_bytes
        if cpu_mean_cores is not UNSET:
            field_dict["cpu_mean_cores"] = cpu_mean_cores
        if read_bytes is not UNSET:
            field_dict["read_bytes"] = read_bytes
        if written_bytes is not UNSET:
            field_dict["written_bytes"] = written_bytes
        if gpu_memory_max_bytes is not UNSET:
            field_dict["gpu_memory_max_bytes"] = gpu_memory_max_bytes
        if gpu_utilisation_mean is not UNSET:
            field_dict["gpu_utilisation_mean"] = gpu_utilisation_mean

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_memory_mean_bytes(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        memory_mean_bytes = _parse_memory_mean_bytes(d.pop("memory_mean_bytes", UNSET))

        def _parse_cpu_mean_cores(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cpu_mean_cores = _parse_cpu_mean_cores(d.pop("cpu_mean_cores", UNSET))

        def _parse_read_bytes(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        read_bytes = _parse_read_bytes(d.pop("read_bytes", UNSET))

        def _parse_written_bytes(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        written_bytes = _parse_written_bytes(d.pop("written_bytes", UNSET))

        def _parse_gpu_memory_max_bytes(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        gpu_memory_max_bytes = _parse_gpu_memory_max_bytes(d.pop("gpu_memory_max_bytes", UNSET))

        def _parse_gpu_utilisation_mean(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        gpu_utilisation_mean = _parse_gpu_utilisation_mean(d.pop("gpu_utilisation_mean", UNSET))

        usage_type_0 = cls(
            memory_mean_bytes=memory_mean_bytes,
            cpu_mean_cores=cpu_mean_cores,
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            gpu_memory_max_bytes=gpu_memory_max_bytes,
            gpu_utilisation_mean=gpu_utilisation_mean,
        )

        return usage_type_0
