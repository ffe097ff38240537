from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="Try")


@_attrs_define
class Try:
    """One try of a task.

    Attributes:
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        run_id (str): 1 to 250 characters except control characters. Example: scheduled__2020-01-03T00:00:00+00:00.
        namespace (None | str | Unset): `default` if omitted.
        map_index (int | None | Unset): Index of a mapped task. If omitted: -1, which means that the task is not mapped.
        try_number (int | None | Unset): Airflow's try number; 1 if omitted.
    """

    dag_id: str
    task_id: str
    run_id: str
    namespace: None | str | Unset = UNSET
    map_index: int | None | Unset = UNSET
    try_number: int | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        dag_id = self.dag_id

        task_id = self.task_id

        run_id = self.run_id

        namespace: None | str | Unset
        if isinstance(self.namespace, Unset):
            namespace = UNSET
        else:
            namespace = self.namespace

        map_index: int | None | Unset
        if isinstance(self.map_index, Unset):
            map_index = UNSET
        else:
            map_index = self.map_index

        try_number: int | None | Unset
        if isinstance(self.try_number, Unset):
            try_number = UNSET
        else:
            try_number = self.try_number

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "dag_id": dag_id,
                "task_id": task_id,
                "run_id": run_id,
            }
        )
        if namespace is not UNSET:
            field_dict["namespace"] = namespace
        if map_index is not UNSET:
            field_dict["map_index"] = map_index
        if try_number is not UNSET:
            field_dict["try_number"] = try_number

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        run_id = d.pop("run_id")

        def _parse_namespace(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        namespace = _parse_namespace(d.pop("namespace", UNSET))

        def _parse_map_index(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        map_index = _parse_map_index(d.pop("map_index", UNSET))

        def _parse_try_number(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        try_number = _parse_try_number(d.pop("try_number", UNSET))

        try_ = cls(
            dag_id=dag_id,
            task_id=task_id,
            run_id=run_id,
            namespace=namespace,
            map_index=map_index,
            try_number=try_number,
        )

        return try_
