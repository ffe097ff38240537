from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..models.outcome import Outcome

T = TypeVar("T", bound="SimilarRun")


@_attrs_define
class SimilarRun:
    """
    Attributes:
        run_id (str):
        map_index (int):
        try_number (int):
        ended_at (datetime.datetime):
        outcome (Outcome): `oom_killed`: the kernel killed the try at its memory limit. `app_oom`: the program reported
            that it ran out of memory.
            `failed`: an error unrelated to memory. `killed`: a signal of unknown cause. `evicted`: the node evicted the
            pod.
            `unschedulable`: no node can run the allocation. Only `oom_killed` and `app_oom` show a lack of memory.
        memory_max_bytes (int): The peak; of an OOM kill a lower bound of the peak.
        distance (float): Difference between the inputs of this run and those of the explained run, as a weighted mean
            over the features. The weight of a feature is the share of the variance of the peak that it explains. 0 for
            identical inputs, before the first fit, and if no feature explains the peaks.
    """

    run_id: str
    map_index: int
    try_number: int
    ended_at: datetime.datetime
    outcome: Outcome
    memory_max_bytes: int
    distance: float

    def to_dict(self) -> dict[str, Any]:
        run_id = self.run_id

        map_index = self.map_index

        try_number = self.try_number

        ended_at = self.ended_at.isoformat()

        outcome = self.outcome.value

        memory_max_bytes = self.memory_max_bytes

        distance = self.distance

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "run_id": run_id,
                "map_index": map_index,
                "try_number": try_number,
                "ended_at": ended_at,
                "outcome": outcome,
                "memory_max_bytes": memory_max_bytes,
                "distance": distance,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        run_id = d.pop("run_id")

        map_index = d.pop("map_index")

        try_number = d.pop("try_number")

        ended_at = isoparse(d.pop("ended_at"))

        outcome = Outcome(d.pop("outcome"))

        memory_max_bytes = d.pop("memory_max_bytes")

        distance = d.pop("distance")

        similar_run = cls(
            run_id=run_id,
            map_index=map_index,
            try_number=try_number,
            ended_at=ended_at,
            outcome=outcome,
            memory_max_bytes=memory_max_bytes,
            distance=distance,
        )

        return similar_run
