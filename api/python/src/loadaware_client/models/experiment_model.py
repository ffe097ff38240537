from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ExperimentModel")


@_attrs_define
class ExperimentModel:
    """
    Attributes:
        task (str):
        family (str):
        bytes_ (int): Size of the encoded model.
        sha256 (str): SHA-256 of the encoded model, hexadecimal.
        blob (str | Unset): The encoded model in base64; only with `blobs`.
    """

    task: str
    family: str
    bytes_: int
    sha256: str
    blob: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        task = self.task

        family = self.family

        bytes_ = self.bytes_

        sha256 = self.sha256

        blob = self.blob

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "task": task,
                "family": family,
                "bytes": bytes_,
                "sha256": sha256,
            }
        )
        if blob is not UNSET:
            field_dict["blob"] = blob

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        task = d.pop("task")

        family = d.pop("family")

        bytes_ = d.pop("bytes")

        sha256 = d.pop("sha256")

        blob = d.pop("blob", UNSET)

        experiment_model = cls(
            task=task,
            family=family,
            bytes_=bytes_,
            sha256=sha256,
            blob=blob,
        )

        return experiment_model
