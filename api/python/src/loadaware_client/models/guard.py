from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="Guard")


@_attrs_define
class Guard:
    """The state of a model's margins when it answered.

    Attributes:
        version (int): Counts what the margins learned since the model was trained.
        params (list[float]): In the order that the model's family documents.
    """

    version: int
    params: list[float]

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        params = self.params

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "version": version,
                "params": params,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        version = d.pop("version")

        params = cast(list[float], d.pop("params"))

        guard = cls(
            version=version,
            params=params,
        )

        return guard
