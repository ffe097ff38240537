from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="DurationType0")


@_attrs_define
class DurationType0:
    """Predicted run time over the node types and cluster loads of past runs; those of the request change it only for a
    task with few runs. A stored answer contains only the median and the 95 % quantile; its other fields are null.

        Attributes:
            median_seconds (float): Seconds; at most ten years.
            p95_seconds (float): Seconds; at most ten years.
            p99_seconds (float | None): 99 % of the runs take at most this time.
            shape (None | str): The most probable shape of the run times, a distribution that several tasks of the namespace
                share: its number, and its 95 % quantile as a multiple of the median; null if none is known.
            outlier_probability (float | None): Probability that the run takes more than three times the median.
            timeout_probability (float | None): Probability of a run longer than `execution_timeout_seconds`; null if the
                request has no timeout.
    """

    median_seconds: float
    p95_seconds: float
    p99_seconds: float | None
    shape: None | str
    outlier_probability: float | None
    timeout_probability: float | None

    def to_dict(self) -> dict[str, Any]:
        median_seconds = self.median_seconds

        p95_seconds = self.p95_seconds

        p99_seconds: float | None
        p99_seconds = self.p99_seconds

        shape: None | str
        shape = self.shape

        outlier_probability: float | None
        outlier_probability = self.outlier_probability

        timeout_probability: float | None
        timeout_probability = self.timeout_probability

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "median_seconds": median_seconds,
                "p95_seconds": p95_seconds,
                "p99_seconds": p99_seconds,
                "shape": shape,
                "outlier_probability": outlier_probability,
                "timeout_probability": timeout_probability,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        median_seconds = d.pop("median_seconds")

        p95_seconds = d.pop("p95_seconds")

        def _parse_p99_seconds(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        p99_seconds = _parse_p99_seconds(d.pop("p99_seconds"))

        def _parse_shape(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        shape = _parse_shape(d.pop("shape"))

        def _parse_outlier_probability(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        outlier_probability = _parse_outlier_probability(d.pop("outlier_probability"))

        def _parse_timeout_probability(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        timeout_probability = _parse_timeout_probability(d.pop("timeout_probability"))

        duration_type_0 = cls(
            median_seconds=median_seconds,
            p95_seconds=p95_seconds,
            p99_seconds=p99_seconds,
            shape=shape,
            outlier_probability=outlier_probability,
            timeout_probability=timeout_probability,
        )

        return duration_type_0
