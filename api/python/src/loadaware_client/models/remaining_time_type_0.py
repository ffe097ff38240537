from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="RemainingTimeType0")


@_attrs_define
class RemainingTimeType0:
    """Remaining time of a try that has run for `elapsed_seconds`. It is null if `elapsed_seconds` is missing or 0; in
    `POST /phase`, if there is no plan or no learned run took as long.

        Attributes:
            median_seconds (float):
            p95_seconds (float):
    """

    median_seconds: float
    p95_seconds: float

    def to_dict(self) -> dict[str, Any]:
        median_seconds = self.median_seconds

        p95_seconds = self.p95_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "median_seconds": median_seconds,
                "p95_seconds": p95_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        median_seconds = d.pop("median_seconds")

        p95_seconds = d.pop("p95_seconds")

        remaining_time_type_0 = cls(
            median_seconds=median_seconds,
            p95_seconds=p95_seconds,
        )

        return remaining_time_type_0
