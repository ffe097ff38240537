from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.dag_footprint import DagFootprint
    from ..models.dag_task_forecast import DagTaskForecast


T = TypeVar("T", bound="DagForecast")


@_attrs_define
class DagForecast:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        structure_updated_at (datetime.datetime):
        median_seconds (float): Median of the time from the start of the run to its end.
        p95_seconds (float):
        past_runs (int): Number of past runs since the last change of the structure that correct `median_seconds` and
            `p95_seconds`; with fewer than 19, both come from the draws alone.
        memory_peak_bytes (int): Median of the largest memory that is granted at one time.
        memory_peak_p95_bytes (int): Memory quota that suffices for 95 % of the runs.
        tasks (list[DagTaskForecast]):
        footprint (list[DagFootprint]): Granted memory at equally spaced times.
        unknown_tasks (list[str]): Tasks without a known run time; they count with a run time of 0. If past runs correct
            `median_seconds` and `p95_seconds`, these two include the reported durations of such tasks.
    """

    namespace: str
    dag_id: str
    structure_updated_at: datetime.datetime
    median_seconds: float
    p95_seconds: float
    past_runs: int
    memory_peak_bytes: int
    memory_peak_p95_bytes: int
    tasks: list[DagTaskForecast]
    footprint: list[DagFootprint]
    unknown_tasks: list[str]

    def to_dict(self) -> dict[str, Any]:
        namespace = self.namespace

        dag_id = self.dag_id

        structure_updated_at = self.structure_updated_at.isoformat()

        median_seconds = self.median_seconds

        p95_seconds = self.p95_seconds

        past_runs = self.past_runs

        memory_peak_bytes = self.memory_peak_bytes

        memory_peak_p95_bytes = self.memory_peak_p95_bytes

        tasks = []
        for tasks_item_data in self.tasks:
            tasks_item = tasks_item_data.to_dict()
            tasks.append(tasks_item)

        footprint = []
        for footprint_item_data in self.footprint:
            footprint_item = footprint_item_data.to_dict()
            footprint.append(footprint_item)

        unknown_tasks = self.unknown_tasks

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "structure_updated_at": structure_updated_at,
                "median_seconds": median_seconds,
                "p95_seconds": p95_seconds,
                "past_runs": past_runs,
                "memory_peak_bytes": memory_peak_bytes,
                "memory_peak_p95_bytes": memory_peak_p95_bytes,
                "tasks": tasks,
                "footprint": footprint,
                "unknown_tasks": unknown_tasks,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.dag_footprint import DagFootprint
        from ..models.dag_task_forecast import DagTaskForecast

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        structure_updated_at = isoparse(d.pop("structure_updated_at"))

        median_seconds = d.pop("median_seconds")

        p95_seconds = d.pop("p95_seconds")

        past_runs = d.pop("past_runs")

        memory_peak_bytes = d.pop("memory_peak_bytes")

        memory_peak_p95_bytes = d.pop("memory_peak_p95_bytes")

        tasks = []
        _tasks = d.pop("tasks")
        for tasks_item_data in _tasks:
            tasks_item = DagTaskForecast.from_dict(tasks_item_data)

            tasks.append(tasks_item)

        footprint = []
        _footprint = d.pop("footprint")
        for footprint_item_data in _footprint:
            footprint_item = DagFootprint.from_dict(footprint_item_data)

            footprint.append(footprint_item)

        unknown_tasks = cast(list[str], d.pop("unknown_tasks"))

        dag_forecast = cls(
            namespace=namespace,
            dag_id=dag_id,
            structure_updated_at=structure_updated_at,
            median_seconds=median_seconds,
            p95_seconds=p95_seconds,
            past_runs=past_runs,
            memory_peak_bytes=memory_peak_bytes,
            memory_peak_p95_bytes=memory_peak_p95_bytes,
            tasks=tasks,
            footprint=footprint,
            unknown_tasks=unknown_tasks,
        )

        return dag_forecast
