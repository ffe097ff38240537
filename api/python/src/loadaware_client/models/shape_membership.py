from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="ShapeMembership")


@_attrs_define
class ShapeMembership:
    """
    Attributes:
        name (str): Number of the shape and its 95 % quantile, as a multiple of the median.
        probability (float):
        density (list[float]): Probability of each bin of the histogram.
    """

    name: str
    probability: float
    density: list[float]

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        probability = self.probability

        density = self.density

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "probability": probability,
                "density": density,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        probability = d.pop("probability")

        density = cast(list[float], d.pop("density"))

        shape_membership = cls(
            name=name,
            probability=probability,
            density=density,
        )

        return shape_membership
