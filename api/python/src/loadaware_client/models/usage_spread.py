from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="UsageSpread")


@_attrs_define
class UsageSpread:
    """
    Attributes:
        quantity (str): `memory_peak_bytes`, `duration_seconds`, `cpu_peak_cores`, `cpu_mean_cores`,
            `peak_over_request`, `mean_over_peak`, `io_bytes` or `memory_gbh`. The peak of a killed run is at least its
            allocation.
        runs (int): Runs that report the quantity.
        p10 (float):
        p50 (float):
        p90 (float):
    """

    quantity: str
    runs: int
    p10: float
    p50: float
    p90: float

    def to_dict(self) -> dict[str, Any]:
        quantity = self.quantity

        runs = self.runs

        p10 = self.p10

        p50 = self.p50

        p90 = self.p90

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "quantity": quantity,
                "runs": runs,
                "p10": p10,
                "p50": p50,
                "p90": p90,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        quantity = d.pop("quantity")

        runs = d.pop("runs")

        p10 = d.pop("p10")

        p50 = d.pop("p50")

        p90 = d.pop("p90")

        usage_spread = cls(
            quantity=quantity,
            runs=runs,
            p10=p10,
            p50=p50,
            p90=p90,
        )

        return usage_spread
