from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="StaticAdvice")


@_attrs_define
class StaticAdvice:
    """
    Attributes:
        request_bytes (int | None): One request for all runs; null with too few runs for the risk target, or with too
            many `killed_runs`.
        request (None | str): The same as a quantity.
        risk (float | None): Upper bound of the probability that the next run exceeds the request, if the next run is
            like the past ones (exchangeable); it does not hold for a task whose peaks grow.
        runs (int): Number of runs that the request is derived from.
        killed_runs (int): Number of these runs that were OOM-killed and never succeeded. Each counts as above the
            request.
        runs_needed (int): Fewest runs for the risk target.
        saves_gbh (float | None): GB·h that the request would have saved in the window. A run above the request costs
            the killed attempt and a retry with the old request.
    """

    request_bytes: int | None
    request: None | str
    risk: float | None
    runs: int
    killed_runs: int
    runs_needed: int
    saves_gbh: float | None

    def to_dict(self) -> dict[str, Any]:
        request_bytes: int | None
        request_bytes = self.request_bytes

        request: None | str
        request = self.request

        risk: float | None
        risk = self.risk

        runs = self.runs

        killed_runs = self.killed_runs

        runs_needed = self.runs_needed

        saves_gbh: float | None
        saves_gbh = self.saves_gbh

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "request_bytes": request_bytes,
                "request": request,
                "risk": risk,
                "runs": runs,
                "killed_runs": killed_runs,
                "runs_needed": runs_needed,
                "saves_gbh": saves_gbh,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_request_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        request_bytes = _parse_request_bytes(d.pop("request_bytes"))

        def _parse_request(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        request = _parse_request(d.pop("request"))

        def _parse_risk(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        risk = _parse_risk(d.pop("risk"))

        runs = d.pop("runs")

        killed_runs = d.pop("killed_runs")

        runs_needed = d.pop("runs_needed")

        def _parse_saves_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        saves_gbh = _parse_saves_gbh(d.pop("saves_gbh"))

        static_advice = cls(
            request_bytes=request_bytes,
            request=request,
            risk=risk,
            runs=runs,
            killed_runs=killed_runs,
            runs_needed=runs_needed,
            saves_gbh=saves_gbh,
        )

        return static_advice
