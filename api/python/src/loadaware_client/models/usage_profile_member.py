from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="UsageProfileMember")


@_attrs_define
class UsageProfileMember:
    """
    Attributes:
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        runs (int): Runs of the task in the profile.
        share (float): Share of the runs of the task in the profile.
    """

    dag_id: str
    task_id: str
    runs: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        dag_id = self.dag_id

        task_id = self.task_id

        runs = self.runs

        share = self.share

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "dag_id": dag_id,
                "task_id": task_id,
                "runs": runs,
                "share": share,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        runs = d.pop("runs")

        share = d.pop("share")

        usage_profile_member = cls(
            dag_id=dag_id,
            task_id=task_id,
            runs=runs,
            share=share,
        )

        return usage_profile_member
