from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.predict_request import PredictRequest


T = TypeVar("T", bound="PredictBatchRequest")


@_attrs_define
class PredictBatchRequest:
    """
    Attributes:
        tasks (list[PredictRequest]):
    """

    tasks: list[PredictRequest]

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
        from ..models.predict_request import PredictRequest

        d = dict(src_dict)
        tasks = []
        _tasks = d.pop("tasks")
        for tasks_item_data in _tasks:
            tasks_item = PredictRequest.from_dict(tasks_item_data)

            tasks.append(tasks_item)

        predict_batch_request = cls(
            tasks=tasks,
        )

        return predict_batch_request
