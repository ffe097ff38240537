from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..models.group import Group

if TYPE_CHECKING:
    from ..models.model_type_0 import ModelType0


T = TypeVar("T", bound="TaskSummary")


@_attrs_define
class TaskSummary:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        observations (int): Number of reported tries.
        kills (int): Number of OOM-killed tries.
        last_seen (datetime.datetime | None):
        group (Group): Usage of the task compared with the other tasks of its namespace, by clusters of mean peak, GB·h
            and standard deviation of the peaks. In a namespace with fewer than 6 tasks with a known peak, or without three
            distinct clusters: by fixed thresholds of the peaks.
        largest_peak_bytes (int | None):
        largest_peak (None | str):
        champion (ModelType0 | None):
    """

    namespace: str
    dag_id: str
    task_id: str
    observations: int
    kills: int
    last_seen: datetime.datetime | None
    group: Group
    largest_peak_bytes: int | None
    largest_peak: None | str
    champion: ModelType0 | None

    def to_dict(self) -> dict[str, Any]:
        from ..models.model_type_0 import ModelType0

        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        observations = self.observations

        kills = self.kills

        last_seen: None | str
        if isinstance(self.last_seen, datetime.datetime):
            last_seen = self.last_seen.isoformat()
        else:
            last_seen = self.last_seen

        group = self.group.value

        largest_peak_bytes: int | None
        largest_peak_bytes = self.largest_peak_bytes

        largest_peak: None | str
        largest_peak = self.largest_peak

        champion: dict[str, Any] | None
        if isinstance(self.champion, ModelType0):
            champion = self.champion.to_dict()
        else:
            champion = self.champion

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "observations": observations,
                "kills": kills,
                "last_seen": last_seen,
                "group": group,
                "largest_peak_bytes": largest_peak_bytes,
                "largest_peak": largest_peak,
                "champion": champion,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.model_type_0 import ModelType0

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        observations = d.pop("observations")

        kills = d.pop("kills")

        def _parse_last_seen(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_seen_type_0 = isoparse(data)

                return last_seen_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_seen = _parse_last_seen(d.pop("last_seen"))

        group = Group(d.pop("group"))

        def _parse_largest_peak_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        largest_peak_bytes = _parse_largest_peak_bytes(d.pop("largest_peak_bytes"))

        def _parse_largest_peak(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        largest_peak = _parse_largest_peak(d.pop("largest_peak"))

        def _parse_champion(data: object) -> ModelType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_model_type_0 = ModelType0.from_dict(data)

                return componentsschemas_model_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ModelType0 | None, data)

        champion = _parse_champion(d.pop("champion"))

        task_summary = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            observations=observations,
            kills=kills,
            last_seen=last_seen,
            group=group,
            largest_peak_bytes=largest_peak_bytes,
            largest_peak=largest_peak,
            champion=champion,
        )

        return task_summary
