from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="NewestRun")


@_attrs_define
class NewestRun:
    """
    Attributes:
        ratio (float): Run time of the newest run divided by the prediction of the models.
        is_outlier (bool): Whether the ratio is more than three times the median ratio.
    """

    ratio: float
    is_outlier: bool

    def to_dict(self) -> dict[str, Any]:
        ratio = self.ratio

        is_outlier = self.is_outlier

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "ratio": ratio,
                "is_outlier": is_outlier,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        ratio = d.pop("ratio")

        is_outlier = d.pop("is_outlier")

        newest_run = cls(
            ratio=ratio,
            is_outlier=is_outlier,
        )

        return newest_run
