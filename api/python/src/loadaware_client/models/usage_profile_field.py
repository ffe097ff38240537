from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="UsageProfileField")


@_attrs_define
class UsageProfileField:
    """
    Attributes:
        name (str): Such as `metadata.owner`, `dag_id`, `task_id` or `requested.memory`.
        tasks (int): Tasks that have the field.
        alone (float): Accuracy with this field only; at least `majority`.
        without (float): Accuracy with all other fields; at least `majority`.
    """

    name: str
    tasks: int
    alone: float
    without: float

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        tasks = self.tasks

        alone = self.alone

        without = self.without

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "tasks": tasks,
                "alone": alone,
                "without": without,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        tasks = d.pop("tasks")

        alone = d.pop("alone")

        without = d.pop("without")

        usage_profile_field = cls(
            name=name,
            tasks=tasks,
            alone=alone,
            without=without,
        )

        return usage_profile_field
