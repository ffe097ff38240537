from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="UsageAnomaly")


@_attrs_define
class UsageAnomaly:
    """How unusual the newest runs of the task are, compared with the runs of the namespace; absent before the namespace
    has profiles.

        Attributes:
            score (float): Outlier score of the newest run (GLOSH): 0 is typical of its profile.
            share_above (float): Share of the runs of the namespace that are at least as unusual as the newest run.
            is_outlier (bool): The newest run has no profile.
            runs (int): Newest runs with a peak, at most 10.
            mean_score (float): Mean outlier score of these runs.
            outliers (int): Number of these runs that have no profile.
    """

    score: float
    share_above: float
    is_outlier: bool
    runs: int
    mean_score: float
    outliers: int

    def to_dict(self) -> dict[str, Any]:
        score = self.score

        share_above = self.share_above

        is_outlier = self.is_outlier

        runs = self.runs

        mean_score = self.mean_score

        outliers = self.outliers

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "score": score,
                "share_above": share_above,
                "is_outlier": is_outlier,
                "runs": runs,
                "mean_score": mean_score,
                "outliers": outliers,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        score = d.pop("score")

        share_above = d.pop("share_above")

        is_outlier = d.pop("is_outlier")

        runs = d.pop("runs")

        mean_score = d.pop("mean_score")

        outliers = d.pop("outliers")

        usage_anomaly = cls(
            score=score,
            share_above=share_above,
            is_outlier=is_outlier,
            runs=runs,
            mean_score=mean_score,
            outliers=outliers,
        )

        return usage_anomaly
