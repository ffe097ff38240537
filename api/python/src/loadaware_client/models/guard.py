from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="Guard")


@_attrs_define
class Guard:
    """The state of the model's margins at the time of the answer.

    Attributes:
        version (int): Number of tries that the model had learned.
        params (list[float]): For the family `experts`: the amount before guard and bounds, the promised risk, the
            factors of pool and guard, the expert with the largest weight, then the log of the peak that each model
            predicts, the predicted spreads of its error, and the log of the predicted run time. If earlier tasks of the run
            were reported, the run score and the log factor that it led to follow.
    """

    version: int
    params: list[float]

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        params = self.params

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "version": version,
                "params": params,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        version = d.pop("version")

        params = cast(list[float], d.pop("params"))

        guard = cls(
            version=version,
            params=params,
        )

        return guard
