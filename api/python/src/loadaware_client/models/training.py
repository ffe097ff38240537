from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="Training")


@_attrs_define
class Training:
    """
    Attributes:
        trained (bool): The training fitted a model.
        published (bool): The new model is active.
        version (int | None): The active version; null if there is none.
        reason (str):
    """

    trained: bool
    published: bool
    version: int | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        trained = self.trained

        published = self.published

        version: int | None
        version = self.version

        reason = self.reason

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "trained": trained,
                "published": published,
                "version": version,
                "reason": reason,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        trained = d.pop("trained")

        published = d.pop("published")

        def _parse_version(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        version = _parse_version(d.pop("version"))

        reason = d.pop("reason")

        training = cls(
            trained=trained,
            published=published,
            version=version,
            reason=reason,
        )

        return training
