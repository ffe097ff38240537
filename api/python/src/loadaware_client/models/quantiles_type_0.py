from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="QuantilesType0")


@_attrs_define
class QuantilesType0:
    """
    Attributes:
        min_ (float):
        p50 (float):
        p90 (float):
        p99 (float):
        max_ (float):
    """

    min_: float
    p50: float
    p90: float
    p99: float
    max_: float

    def to_dict(self) -> dict[str, Any]:
        min_ = self.min_

        p50 = self.p50

        p90 = self.p90

        p99 = self.p99

        max_ = self.max_

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "min": min_,
                "p50": p50,
                "p90": p90,
                "p99": p99,
                "max": max_,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        min_ = d.pop("min")

        p50 = d.pop("p50")

        p90 = d.pop("p90")

        p99 = d.pop("p99")

        max_ = d.pop("max")

        quantiles_type_0 = cls(
            min_=min_,
            p50=p50,
            p90=p90,
            p99=p99,
            max_=max_,
        )

        return quantiles_type_0
