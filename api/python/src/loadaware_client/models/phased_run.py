from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.planned_limit import PlannedLimit


T = TypeVar("T", bound="PhasedRun")


@_attrs_define
class PhasedRun:
    """
    Attributes:
        run_id (str): 1 to 250 characters except control characters. Example: scheduled__2020-01-03T00:00:00+00:00.
        map_index (int): Index of a mapped task; -1 for a task that is not mapped.
        try_number (int): Airflow's try number.
        step_seconds (float):
        memory_bytes (list[int]): Peak memory of each step, at most 480.
        cpu_cores (list[float] | None): Mean CPU use of each step; null if unknown.
        phases (list[int]): Phase of each step; empty before phases are found, and if they need CPU and the run has
            none.
        static_bytes (int | None): The static grant; null if unknown.
        limits (list[PlannedLimit]): Limits of the plan that was made before the run was learned, in order of time.
        killed (bool): Whether these limits would have killed the run.
    """

    run_id: str
    map_index: int
    try_number: int
    step_seconds: float
    memory_bytes: list[int]
    cpu_cores: list[float] | None
    phases: list[int]
    static_bytes: int | None
    limits: list[PlannedLimit]
    killed: bool

    def to_dict(self) -> dict[str, Any]:
        run_id = self.run_id

        map_index = self.map_index

        try_number = self.try_number

        step_seconds = self.step_seconds

        memory_bytes = self.memory_bytes

        cpu_cores: list[float] | None
        if isinstance(self.cpu_cores, list):
            cpu_cores = self.cpu_cores

        else:
            cpu_cores = self.cpu_cores

        phases = self.phases

        static_bytes: int | None
        static_bytes = self.static_bytes

        limits = []
        for limits_item_data in self.limits:
            limits_item = limits_item_data.to_dict()
            limits.append(limits_item)

        killed = self.killed

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "run_id": run_id,
                "map_index": map_index,
                "try_number": try_number,
                "step_seconds": step_seconds,
                "memory_bytes": memory_bytes,
                "cpu_cores": cpu_cores,
                "phases": phases,
                "static_bytes": static_bytes,
                "limits": limits,
                "killed": killed,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.planned_limit import PlannedLimit

        d = dict(src_dict)
        run_id = d.pop("run_id")

        map_index = d.pop("map_index")

        try_number = d.pop("try_number")

        step_seconds = d.pop("step_seconds")

        memory_bytes = cast(list[int], d.pop("memory_bytes"))

        def _parse_cpu_cores(data: object) -> list[float] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                cpu_cores_type_0 = cast(list[float], data)

                return cpu_cores_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None, data)

        cpu_cores = _parse_cpu_cores(d.pop("cpu_cores"))

        phases = cast(list[int], d.pop("phases"))

        def _parse_static_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        static_bytes = _parse_static_bytes(d.pop("static_bytes"))

        limits = []
        _limits = d.pop("limits")
        for limits_item_data in _limits:
            limits_item = PlannedLimit.from_dict(limits_item_data)

            limits.append(limits_item)

        killed = d.pop("killed")

        phased_run = cls(
            run_id=run_id,
            map_index=map_index,
            try_number=try_number,
            step_seconds=step_seconds,
            memory_bytes=memory_bytes,
            cpu_cores=cpu_cores,
            phases=phases,
            static_bytes=static_bytes,
            limits=limits,
            killed=killed,
        )

        return phased_run
