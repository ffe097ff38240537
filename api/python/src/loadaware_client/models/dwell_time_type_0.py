from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="DwellTimeType0")


@_attrs_define
class DwellTimeType0:
    """Duration of the visits to a phase; null without visits.

    Attributes:
        p10_seconds (float):
        median_seconds (float):
        p90_seconds (float):
    """

    p10_seconds: float
    median_seconds: float
    p90_seconds: float

    def to_dict(self) -> dict[str, Any]:
        p10_seconds = self.p10_seconds

        median_seconds = self.median_seconds

        p90_seconds = self.p90_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "p10_seconds": p10_seconds,
                "median_seconds": median_seconds,
                "p90_seconds": p90_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        p10_seconds = d.pop("p10_seconds")

        median_seconds = d.pop("median_seconds")

        p90_seconds = d.pop("p90_seconds")

        dwell_time_type_0 = cls(
            p10_seconds=p10_seconds,
            median_seconds=median_seconds,
            p90_seconds=p90_seconds,
        )

        return dwell_time_type_0
