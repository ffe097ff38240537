from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

from ..models.readiness_observe import ReadinessObserve
from ..models.readiness_status import ReadinessStatus

T = TypeVar("T", bound="Readiness")


@_attrs_define
class Readiness:
    """
    Attributes:
        status (ReadinessStatus):
        observe (ReadinessObserve): Whether reports can be stored.
        models (int): How many models answer here.
    """

    status: ReadinessStatus
    observe: ReadinessObserve
    models: int

    def to_dict(self) -> dict[str, Any]:
        status = self.status.value

        observe = self.observe.value

        models = self.models

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "status": status,
                "observe": observe,
                "models": models,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        status = ReadinessStatus(d.pop("status"))

        observe = ReadinessObserve(d.pop("observe"))

        models = d.pop("models")

        readiness = cls(
            status=status,
            observe=observe,
            models=models,
        )

        return readiness
