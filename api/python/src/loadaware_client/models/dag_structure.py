from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.dag_task import DagTask


T = TypeVar("T", bound="DagStructure")


@_attrs_define
class DagStructure:
    """
    Attributes:
        tasks (list[DagTask]):
    """

    tasks: list[DagTask]

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
        from ..models.dag_task import DagTask

        d = dict(src_dict)
        tasks = []
        _tasks = d.pop("tasks")
        for tasks_item_data in _tasks:
            tasks_item = DagTask.from_dict(tasks_item_data)

            tasks.append(tasks_item)

        dag_structure = cls(
            tasks=tasks,
        )

        return dag_structure
