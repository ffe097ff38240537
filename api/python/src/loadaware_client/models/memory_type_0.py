from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="MemoryType0")


@_attrs_define
class MemoryType0:
    """Memory request and limit of the pod.

    Attributes:
        request_bytes (int): Bytes; at most 8Pi.
        limit_bytes (int): Bytes; at most 8Pi.
        request (str): A Kubernetes quantity of memory. Example: 350Gi.
        limit (str): A Kubernetes quantity of memory. Example: 350Gi.
    """

    request_bytes: int
    limit_bytes: int
    request: str
    limit: str

    def to_dict(self) -> dict[str, Any]:
        request_bytes = self.request_bytes

        limit_bytes = self.limit_bytes

        request = self.request

        limit = self.limit

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "request_bytes": request_bytes,
                "limit_bytes": limit_bytes,
                "request": request,
                "limit": limit,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        request_bytes = d.pop("request_bytes")

        limit_bytes = d.pop("limit_bytes")

        request = d.pop("request")

        limit = d.pop("limit")

        memory_type_0 = cls(
            request_bytes=request_bytes,
            limit_bytes=limit_bytes,
            request=request,
            limit=limit,
        )

        return memory_type_0
