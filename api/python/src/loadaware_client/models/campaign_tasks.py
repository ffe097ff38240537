from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.campaign_task import CampaignTask


T = TypeVar("T", bound="CampaignTasks")


@_attrs_define
class CampaignTasks:
    """
    Attributes:
        tasks (list[CampaignTask]):
    """

    tasks: list[CampaignTask]

    def to_dict(self) -> dict[str, Any]:
        tasks = []
        for tasks_item_data in self.tasks:
            tasks_item = tasks_item_data.to_dict()
            tasks.append(tasks_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "tasks": tasks,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_task import CampaignTask

        d = dict(src_dict)
        tasks = []
        _tasks = d.pop("tasks")
        for tasks_item_data in _tasks:
            tasks_item = CampaignTask.from_dict(tasks_item_data)

            tasks.append(tasks_item)

        campaign_tasks = cls(
            tasks=tasks,
        )

        return campaign_tasks
