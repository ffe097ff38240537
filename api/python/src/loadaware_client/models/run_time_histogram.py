from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="RunTimeHistogram")


@_attrs_define
class RunTimeHistogram:
    """Histogram of the ratios of run times to the predictions of the models. The first bin starts at 0; the last one has
    no upper end.

        Attributes:
            width (float): Width of a bin.
            counts (list[int]): Number of runs in each bin.
            predicted (list[float]): Probability that the next run falls into each bin.
    """

    width: float
    counts: list[int]
    predicted: list[float]

    def to_dict(self) -> dict[str, Any]:
        width = self.width

        counts = self.counts

        predicted = self.predicted

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "width": width,
                "counts": counts,
                "predicted": predicted,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        width = d.pop("width")

        counts = cast(list[int], d.pop("counts"))

        predicted = cast(list[float], d.pop("predicted"))

        run_time_histogram = cls(
            width=width,
            counts=counts,
            predicted=predicted,
        )

        return run_time_histogram
