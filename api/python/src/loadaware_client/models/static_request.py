from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

T = TypeVar("T", bound="StaticRequest")


@_attrs_define
class StaticRequest:
    """
    Attributes:
        at (datetime.datetime):
        memory_bytes (int | None): Memory in bytes.
        cpu_cores (float | None): CPU in cores.
    """

    at: datetime.datetime
    memory_bytes: int | None
    cpu_cores: float | None

    def to_dict(self) -> dict[str, Any]:
        at = self.at.isoformat()

        memory_bytes: int | None
        memory_bytes = self.memory_bytes

        cpu_cores: float | None
        cpu_cores = self.cpu_cores

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "at": at,
                "memory_bytes": memory_bytes,
                "cpu_cores": cpu_cores,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        at = isoparse(d.pop("at"))

        def _parse_memory_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        memory_bytes = _parse_memory_bytes(d.pop("memory_bytes"))

        def _parse_cpu_cores(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cpu_cores = _parse_cpu_cores(d.pop("cpu_cores"))

        static_request = cls(
            at=at,
            memory_bytes=memory_bytes,
            cpu_cores=cpu_cores,
        )

        return static_request
