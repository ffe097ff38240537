from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="BinsType0")


@_attrs_define
class BinsType0:
    """For each bin of the task, the probability that the peak is in it. With the grid `bins` the allocation is the upper
    edge of the chosen bin.

        Attributes:
            upper_bytes (list[int]):
            probabilities (list[float]):
            chosen (int): Index of the bin of the allocation, from 0.
    """

    upper_bytes: list[int]
    probabilities: list[float]
    chosen: int

    def to_dict(self) -> dict[str, Any]:
        upper_bytes = self.upper_bytes

        probabilities = self.probabilities

        chosen = self.chosen

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "upper_bytes": upper_bytes,
                "probabilities": probabilities,
                "chosen": chosen,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        upper_bytes = cast(list[int], d.pop("upper_bytes"))

        probabilities = cast(list[float], d.pop("probabilities"))

        chosen = d.pop("chosen")

        bins_type_0 = cls(
            upper_bytes=upper_bytes,
            probabilities=probabilities,
            chosen=chosen,
        )

        return bins_type_0
