from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from dateutil.parser import isoparse

T = TypeVar("T", bound="ModelType0")


@_attrs_define
class ModelType0:
    """
    Attributes:
        version (int):
        family (str): Kind of the model, such as `experts`.
        observations (int): Number of reports of the task at the training, including those that retention removed.
        trained_at (datetime.datetime):
    """

    version: int
    family: str
    observations: int
    trained_at: datetime.datetime

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        family = self.family

        observations = self.observations

        trained_at = self.trained_at.isoformat()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "version": version,
                "family": family,
                "observations": observations,
                "trained_at": trained_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        version = d.pop("version")

        family = d.pop("family")

        observations = d.pop("observations")

        trained_at = isoparse(d.pop("trained_at"))

        model_type_0 = cls(
            version=version,
            family=family,
            observations=observations,
            trained_at=trained_at,
        )

        return model_type_0
