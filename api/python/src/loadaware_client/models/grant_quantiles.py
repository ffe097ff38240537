from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="GrantQuantiles")


@_attrs_define
class GrantQuantiles:
    """
    Attributes:
        p25_bytes (int):
        p50_bytes (int):
        p75_bytes (int):
        p95_bytes (int):
    """

    p25_bytes: int
    p50_bytes: int
    p75_bytes: int
    p95_bytes: int

    def to_dict(self) -> dict[str, Any]:
        p25_bytes = self.p25_bytes

        p50_bytes = self.p50_bytes

        p75_bytes = self.p75_bytes

        p95_bytes = self.p95_bytes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "p25_bytes": p25_bytes,
                "p50_bytes": p50_bytes,
                "p75_bytes": p75_bytes,
                "p95_bytes": p95_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        p25_bytes = d.pop("p25_bytes")

        p50_bytes = d.pop("p50_bytes")

        p75_bytes = d.pop("p75_bytes")

        p95_bytes = d.pop("p95_bytes")

        grant_quantiles = cls(
            p25_bytes=p25_bytes,
            p50_bytes=p50_bytes,
            p75_bytes=p75_bytes,
            p95_bytes=p95_bytes,
        )

        return grant_quantiles
