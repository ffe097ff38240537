from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="RunTimeQuantiles")


@_attrs_define
class RunTimeQuantiles:
    """
    Attributes:
        p25_seconds (float):
        median_seconds (float):
        p75_seconds (float):
        p95_seconds (float):
        outlier_share (float): Expected share of runs that take more than three times the median that was predicted for
            them before the change.
    """

    p25_seconds: float
    median_seconds: float
    p75_seconds: float
    p95_seconds: float
    outlier_share: float

    def to_dict(self) -> dict[str, Any]:
        p25_seconds = self.p25_seconds

        median_seconds = self.median_seconds

        p75_seconds = self.p75_seconds

        p95_seconds = self.p95_seconds

        outlier_share = self.outlier_share

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "p25_seconds": p25_seconds,
                "median_seconds": median_seconds,
                "p75_seconds": p75_seconds,
                "p95_seconds": p95_seconds,
                "outlier_share": outlier_share,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        p25_seconds = d.pop("p25_seconds")

        median_seconds = d.pop("median_seconds")

        p75_seconds = d.pop("p75_seconds")

        p95_seconds = d.pop("p95_seconds")

        outlier_share = d.pop("outlier_share")

        run_time_quantiles = cls(
            p25_seconds=p25_seconds,
            median_seconds=median_seconds,
            p75_seconds=p75_seconds,
            p95_seconds=p95_seconds,
            outlier_share=outlier_share,
        )

        return run_time_quantiles
