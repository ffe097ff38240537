from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.group import Group

T = TypeVar("T", bound="StaticGroup")


@_attrs_define
class StaticGroup:
    """
    Attributes:
        group (Group): Usage of the task compared with the other tasks of its namespace, by clusters of mean peak, GB·h
            and standard deviation of the peaks. In a namespace with fewer than 6 tasks with a known peak, or without three
            distinct clusters: by fixed thresholds of the peaks.
        tasks (int): Number of tasks that the request is derived from.
        without (int): Number of tasks for which no request can be derived.
        request_bytes (int | None): One request for every run of these tasks.
        request (None | str): The same as a quantity.
        risk (float | None): Largest bound of the risk of a task.
        saves_gbh (float | None): GB·h that the request would have saved in the window.
    """

    group: Group
    tasks: int
    without: int
    request_bytes: int | None
    request: None | str
    risk: float | None
    saves_gbh: float | None

    def to_dict(self) -> dict[str, Any]:
        group = self.group.value

        tasks = self.tasks

        without = self.without

        request_bytes: int | None
        request_bytes = self.request_bytes

        request: None | str
        request = self.request

        risk: float | None
        risk = self.risk

        saves_gbh: float | None
        saves_gbh = self.saves_gbh

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "group": group,
                "tasks": tasks,
                "without": without,
                "request_bytes": request_bytes,
                "request": request,
                "risk": risk,
                "saves_gbh": saves_gbh,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        group = Group(d.pop("group"))

        tasks = d.pop("tasks")

        without = d.pop("without")

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

        def _parse_saves_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        saves_gbh = _parse_saves_gbh(d.pop("saves_gbh"))

        static_group = cls(
            group=group,
            tasks=tasks,
            without=without,
            request_bytes=request_bytes,
            request=request,
            risk=risk,
            saves_gbh=saves_gbh,
        )

        return static_group
