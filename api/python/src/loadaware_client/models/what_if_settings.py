from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="WhatIfSettings")


@_attrs_define
class WhatIfSettings:
    """Replaces parts of the policies. An omitted field does not change the policy of a task.

    Attributes:
        risk_target (float | None | Unset):
        floor_bytes (int | None | Unset):
        cap_bytes (int | None | Unset):
        max_lifts (int | None | Unset):
        bins (list[int] | Unset): Ascending amounts to which grants are rounded up.
    """

    risk_target: float | None | Unset = UNSET
    floor_bytes: int | None | Unset = UNSET
    cap_bytes: int | None | Unset = UNSET
    max_lifts: int | None | Unset = UNSET
    bins: list[int] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        risk_target: float | None | Unset
        if isinstance(self.risk_target, Unset):
            risk_target = UNSET
        else:
            risk_target = self.risk_target

        floor_bytes: int | None | Unset
        if isinstance(self.floor_bytes, Unset):
            floor_bytes = UNSET
        else:
            floor_bytes = self.floor_bytes

        cap_bytes: int | None | Unset
        if isinstance(self.cap_bytes, Unset):
            cap_bytes = UNSET
        else:
            cap_bytes = self.cap_bytes

        max_lifts: int | None | Unset
        if isinstance(self.max_lifts, Unset):
            max_lifts = UNSET
        else:
            max_lifts = self.max_lifts

        bins: list[int] | Unset = UNSET
        if not isinstance(self.bins, Unset):
            bins = self.bins

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if risk_target is not UNSET:
            field_dict["risk_target"] = risk_target
        if floor_bytes is not UNSET:
            field_dict["floor_bytes"] = floor_bytes
        if cap_bytes is not UNSET:
            field_dict["cap_bytes"] = cap_bytes
        if max_lifts is not UNSET:
            field_dict["max_lifts"] = max_lifts
        if bins is not UNSET:
            field_dict["bins"] = bins

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_risk_target(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        risk_target = _parse_risk_target(d.pop("risk_target", UNSET))

        def _parse_floor_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        floor_bytes = _parse_floor_bytes(d.pop("floor_bytes", UNSET))

        def _parse_cap_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        cap_bytes = _parse_cap_bytes(d.pop("cap_bytes", UNSET))

        def _parse_max_lifts(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_lifts = _parse_max_lifts(d.pop("max_lifts", UNSET))

        bins = cast(list[int], d.pop("bins", UNSET))

        what_if_settings = cls(
            risk_target=risk_target,
            floor_bytes=floor_bytes,
            cap_bytes=cap_bytes,
            max_lifts=max_lifts,
            bins=bins,
        )

        return what_if_settings
