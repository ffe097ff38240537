from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="DagTask")


@_attrs_define
class DagTask:
    """
    Attributes:
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        upstream (list[str]): Tasks that must end before the task starts.
    """

    task_id: str
    upstream: list[str]

    def to_dict(self) -> dict[str, Any]:
        task_id = self.task_id

        upstream = self.upstream

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "task_id": task_id,
                "upstream": upstream,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        task_id = d.pop("task_id")

        upstream = cast(list[str], d.pop("upstream"))

        dag_task = cls(
            task_id=task_id,
            upstream=upstream,
        )

        return dag_task
