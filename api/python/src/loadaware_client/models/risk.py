from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="Risk")


@_attrs_define
class Risk:
    """
    Attributes:
        promised (float | None): Probability that the peak of this try exceeds the granted limit; null if unknown.
        target (float): The risk target of the policy.
    """

    promised: float | None
    target: float

    def to_dict(self) -> dict[str, Any]:
        promised: float | None
        promised = self.promised

        target = self.target

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "promised": promised,
                "target": target,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_promised(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        promised = _parse_promised(d.pop("promised"))

        target = d.pop("target")

        risk = cls(
            promised=promised,
            target=target,
        )

        return risk
