from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.static_request import StaticRequest


T = TypeVar("T", bound="Baseline")


@_attrs_define
class Baseline:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        memory_bytes (int | None): The first static memory request; it does not change.
        cpu_cores (float | None): The first static CPU request; it does not change.
        memory_at (datetime.datetime | None): Time of the memory request.
        cpu_at (datetime.datetime | None): Time of the CPU request.
        changes (list[StaticRequest]): Later requests, the last one of each day.
    """

    namespace: str
    dag_id: str
    task_id: str
    memory_bytes: int | None
    cpu_cores: float | None
    memory_at: datetime.datetime | None
    cpu_at: datetime.datetime | None
    changes: list[StaticRequest]

    def to_dict(self) -> dict[str, Any]:
        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        memory_bytes: int | None
        memory_bytes = self.memory_bytes

        cpu_cores: float | None
        cpu_cores = self.cpu_cores

        memory_at: None | str
        if isinstance(self.memory_at, datetime.datetime):
            memory_at = self.memory_at.isoformat()
        else:
            memory_at = self.memory_at

        cpu_at: None | str
        if isinstance(self.cpu_at, datetime.datetime):
            cpu_at = self.cpu_at.isoformat()
        else:
            cpu_at = self.cpu_at

        changes = []
        for changes_item_data in self.changes:
            changes_item = changes_item_data.to_dict()
            changes.append(changes_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "memory_bytes": memory_bytes,
                "cpu_cores": cpu_cores,
                "memory_at": memory_at,
                "cpu_at": cpu_at,
                "changes": changes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.static_request import StaticRequest

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        def _parse_memory_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        memory_bytes = _parse_memory_bytes(d.pop("memory_bytes"))

        def _parse_cpu_cores(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cpu_cores = _parse_cpu_cores(d.pop("cpu_cores"))

        def _parse_memory_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                memory_at_type_0 = isoparse(data)

                return memory_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        memory_at = _parse_memory_at(d.pop("memory_at"))

        def _parse_cpu_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                cpu_at_type_0 = isoparse(data)

                return cpu_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        cpu_at = _parse_cpu_at(d.pop("cpu_at"))

        changes = []
        _changes = d.pop("changes")
        for changes_item_data in _changes:
            changes_item = StaticRequest.from_dict(changes_item_data)

            changes.append(changes_item)

        baseline = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            memory_bytes=memory_bytes,
            cpu_cores=cpu_cores,
            memory_at=memory_at,
            cpu_at=cpu_at,
            changes=changes,
        )

        return baseline
