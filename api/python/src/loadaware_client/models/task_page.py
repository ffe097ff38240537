from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.task_summary import TaskSummary


T = TypeVar("T", bound="TaskPage")


@_attrs_define
class TaskPage:
    """
    Attributes:
        tasks (list[TaskSummary]):
        next_cursor (None | str): Opaque; null on the last page.
    """

    tasks: list[TaskSummary]
    next_cursor: None | str

    def to_dict(self) -> dict[str, Any]:
        tasks = []
        for tasks_item_data in self.tasks:
            tasks_item = tasks_item_data.to_dict()
            tasks.append(tasks_item)

        next_cursor: None | str
        next_cursor = self.next_cursor

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "tasks": tasks,
                "next_cursor": next_cursor,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.task_summary import TaskSummary

        d = dict(src_dict)
        tasks = []
        _tasks = d.pop("tasks")
        for tasks_item_data in _tasks:
            tasks_item = TaskSummary.from_dict(tasks_item_data)

            tasks.append(tasks_item)

        def _parse_next_cursor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_cursor = _parse_next_cursor(d.pop("next_cursor"))

        task_page = cls(
            tasks=tasks,
            next_cursor=next_cursor,
        )

        return task_page
