from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="DagTaskForecast")


@_attrs_define
class DagTaskForecast:
    """
    Attributes:
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        start_seconds (float): Median of the start.
        end_seconds (float): Median of the end.
        end_p95_seconds (float):
        critical (float): Probability that the task is on the critical path.
        instances (int): Median number of mapped instances over the draws in which the task runs.
        memory_bytes (int): Memory that this number of instances is granted.
    """

    task_id: str
    start_seconds: float
    end_seconds: float
    end_p95_seconds: float
    critical: float
    instances: int
    memory_bytes: int

    def to_dict(self) -> dict[str, Any]:
        task_id = self.task_id

        start_seconds = self.start_seconds

        end_seconds = self.end_seconds

        end_p95_seconds = self.end_p95_seconds

        critical = self.critical

        instances = self.instances

        memory_bytes = self.memory_bytes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "task_id": task_id,
                "start_seconds": start_seconds,
                "end_seconds": end_seconds,
                "end_p95_seconds": end_p95_seconds,
                "critical": critical,
                "instances": instances,
                "memory_bytes": memory_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        task_id = d.pop("task_id")

        start_seconds = d.pop("start_seconds")

        end_seconds = d.pop("end_seconds")

        end_p95_seconds = d.pop("end_p95_seconds")

        critical = d.pop("critical")

        instances = d.pop("instances")

        memory_bytes = d.pop("memory_bytes")

        dag_task_forecast = cls(
            task_id=task_id,
            start_seconds=start_seconds,
            end_seconds=end_seconds,
            end_p95_seconds=end_p95_seconds,
            critical=critical,
            instances=instances,
            memory_bytes=memory_bytes,
        )

        return dag_task_forecast
