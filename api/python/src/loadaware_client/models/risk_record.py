from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="RiskRecord")


@_attrs_define
class RiskRecord:
    """Promised and realised risk of first tries.

    Attributes:
        target (float):
        tries (int): Reported first tries with a promised risk.
        killed (int): OOM-killed tries among them.
        promised (float | None): Mean promised risk.
        realised (float | None): Ratio of killed to tries.
        interval (list[float] | None): 95 % confidence interval of the realised risk.
    """

    target: float
    tries: int
    killed: int
    promised: float | None
    realised: float | None
    interval: list[float] | None

    def to_dict(self) -> dict[str, Any]:
        target = self.target

        tries = self.tries

        killed = self.killed

        promised: float | None
        promised = self.promised

        realised: float | None
        realised = self.realised

        interval: list[float] | None
        if isinstance(self.interval, list):
            interval = self.interval

        else:
            interval = self.interval

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "target": target,
                "tries": tries,
                "killed": killed,
                "promised": promised,
                "realised": realised,
                "interval": interval,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        target = d.pop("target")

        tries = d.pop("tries")

        killed = d.pop("killed")

        def _parse_promised(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        promised = _parse_promised(d.pop("promised"))

        def _parse_realised(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        realised = _parse_realised(d.pop("realised"))

        def _parse_interval(data: object) -> list[float] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                interval_type_0 = cast(list[float], data)

                return interval_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None, data)

        interval = _parse_interval(d.pop("interval"))

        risk_record = cls(
            target=target,
            tries=tries,
            killed=killed,
            promised=promised,
            realised=realised,
            interval=interval,
        )

        return risk_record
