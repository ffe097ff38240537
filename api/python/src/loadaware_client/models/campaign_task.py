from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="CampaignTask")


@_attrs_define
class CampaignTask:
    """
    Attributes:
        task_id (str):
        map_index (int):
        tries (int): Reported tries.
        succeeded (bool):
        memory_max_bytes (int | None): The peak of the successful try.
    """

    task_id: str
    map_index: int
    tries: int
    succeeded: bool
    memory_max_bytes: int | None

    def to_dict(self) -> dict[str, Any]:
        task_id = self.task_id

        map_index = self.map_index

        tries = self.tries

        succeeded = self.succeeded

        memory_max_bytes: int | None
        memory_max_bytes = self.memory_max_bytes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "task_id": task_id,
                "map_index": map_index,
                "tries": tries,
                "succeeded": succeeded,
                "memory_max_bytes": memory_max_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        task_id = d.pop("task_id")

        map_index = d.pop("map_index")

        tries = d.pop("tries")

        succeeded = d.pop("succeeded")

        def _parse_memory_max_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        memory_max_bytes = _parse_memory_max_bytes(d.pop("memory_max_bytes"))

        campaign_task = cls(
            task_id=task_id,
            map_index=map_index,
            tries=tries,
            succeeded=succeeded,
            memory_max_bytes=memory_max_bytes,
        )

        return campaign_task
