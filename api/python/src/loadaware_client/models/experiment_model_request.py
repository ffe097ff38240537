from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="ExperimentModelRequest")


@_attrs_define
class ExperimentModelRequest:
    """
    Attributes:
        task (str):
        family (str):
        blob (str): The encoded model in base64.
    """

    task: str
    family: str
    blob: str

    def to_dict(self) -> dict[str, Any]:
        task = self.task

        family = self.family

        blob = self.blob

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "task": task,
                "family": family,
                "blob": blob,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        task = d.pop("task")

        family = d.pop("family")

        blob = d.pop("blob")

        experiment_model_request = cls(
            task=task,
            family=family,
            blob=blob,
        )

        return experiment_model_request
