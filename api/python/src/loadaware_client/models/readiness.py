from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

from ..models.readiness_observe import ReadinessObserve
from ..models.readiness_status import ReadinessStatus
from ..types import UNSET, Unset

T = TypeVar("T", bound="Readiness")


@_attrs_define
class Readiness:
    """
    Attributes:
        status (ReadinessStatus):
        observe (ReadinessObserve): Whether the server can store reports.
        models (int): Number of tasks with an active model that this replica knows.
        version (str | Unset): Version of the program. Example: 1.0.0.
        stale_seconds (float | Unset): Time for which this replica may have missed changes of models and policies. Below
            2 while the database is
            reachable; absent while it is unknown.
    """

    status: ReadinessStatus
    observe: ReadinessObserve
    models: int
    version: str | Unset = UNSET
    stale_seconds: float | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        status = self.status.value

        observe = self.observe.value

        models = self.models

        version = self.version

        stale_seconds = self.stale_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "status": status,
                "observe": observe,
                "models": models,
            }
        )
        if version is not UNSET:
            field_dict["version"] = version
        if stale_seconds is not UNSET:
            field_dict["stale_seconds"] = stale_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        status = ReadinessStatus(d.pop("status"))

        observe = ReadinessObserve(d.pop("observe"))

        models = d.pop("models")

        version = d.pop("version", UNSET)

        stale_seconds = d.pop("stale_seconds", UNSET)

        readiness = cls(
            status=status,
            observe=observe,
            models=models,
            version=version,
            stale_seconds=stale_seconds,
        )

        return readiness
