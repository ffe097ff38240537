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
        observe (ReadinessObserve): Whether reports can be stored.
        models (int): How many models answer here.
        stale_seconds (float | Unset): For how long this replica may have missed a change of a model or a policy: the
            time since it last knew what is
            stored. Below 2 while the database can be reached; left out where there is nothing to say.
    """

    status: ReadinessStatus
    observe: ReadinessObserve
    models: int
    stale_seconds: float | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        status = self.status.value

        observe = self.observe.value

        models = self.models

        stale_seconds = self.stale_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "status": status,
                "observe": observe,
                "models": models,
            }
        )
        if stale_seconds is not UNSET:
            field_dict["stale_seconds"] = stale_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        status = ReadinessStatus(d.pop("status"))

        observe = ReadinessObserve(d.pop("observe"))

        models = d.pop("models")

        stale_seconds = d.pop("stale_seconds", UNSET)

        readiness = cls(
            status=status,
            observe=observe,
            models=models,
            stale_seconds=stale_seconds,
        )

        return readiness
