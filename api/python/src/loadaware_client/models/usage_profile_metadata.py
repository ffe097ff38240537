from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.usage_profile_field import UsageProfileField


T = TypeVar("T", bound="UsageProfileMetadata")


@_attrs_define
class UsageProfileMetadata:
    """How well facts that are known before the first run predict the profile of a task. This shows which fields are worth
    sending. Each task is
    predicted from the others by naive Bayes; the outlier group is a profile, too. Absent with fewer than 20 tasks.

        Attributes:
            tasks (int):
            majority (float): Share of the tasks that have the most frequent profile: the accuracy without any fact.
            accuracy (float): Share of the tasks whose profile is predicted from all fields; at least `majority`.
            fields (list[UsageProfileField]): The 24 most frequent fields or fewer, the most useful first.
    """

    tasks: int
    majority: float
    accuracy: float
    fields: list[UsageProfileField]

    def to_dict(self) -> dict[str, Any]:
        tasks = self.tasks

        majority = self.majority

        accuracy = self.accuracy

        fields = []
        for fields_item_data in self.fields:
            fields_item = fields_item_data.to_dict()
            fields.append(fields_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "tasks": tasks,
                "majority": majority,
                "accuracy": accuracy,
                "fields": fields,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.usage_profile_field import UsageProfileField

        d = dict(src_dict)
        tasks = d.pop("tasks")

        majority = d.pop("majority")

        accuracy = d.pop("accuracy")

        fields = []
        _fields = d.pop("fields")
        for fields_item_data in _fields:
            fields_item = UsageProfileField.from_dict(fields_item_data)

            fields.append(fields_item)

        usage_profile_metadata = cls(
            tasks=tasks,
            majority=majority,
            accuracy=accuracy,
            fields=fields,
        )

        return usage_profile_metadata
