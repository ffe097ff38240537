from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.dwell_time_type_0 import DwellTimeType0
    from ..models.phase_transition import PhaseTransition


T = TypeVar("T", bound="TaskPhase")


@_attrs_define
class TaskPhase:
    """
    Attributes:
        id (int):
        share (float): Share of the time of the runs.
        memory_mean_bytes (float):
        memory_sd_bytes (float): Standard deviation.
        memory_max_bytes (float):
        cpu_mean_cores (float | None): Null without CPU in the series.
        cpu_sd_cores (float | None):
        cpu_max_cores (float | None):
        visits (int): Number of uninterrupted stays in the phase.
        dwell (DwellTimeType0 | None): Duration of the visits to a phase; null without visits.
        next_ (list[PhaseTransition]): What follows the phase, most probable first.
    """

    id: int
    share: float
    memory_mean_bytes: float
    memory_sd_bytes: float
    memory_max_bytes: float
    cpu_mean_cores: float | None
    cpu_sd_cores: float | None
    cpu_max_cores: float | None
    visits: int
    dwell: DwellTimeType0 | None
    next_: list[PhaseTransition]

    def to_dict(self) -> dict[str, Any]:
        from ..models.dwell_time_type_0 import DwellTimeType0

        id = self.id

        share = self.share

        memory_mean_bytes = self.memory_mean_bytes

        memory_sd_bytes = self.memory_sd_bytes

        memory_max_bytes = self.memory_max_bytes

        cpu_mean_cores: float | None
        cpu_mean_cores = self.cpu_mean_cores

        cpu_sd_cores: float | None
        cpu_sd_cores = self.cpu_sd_cores

        cpu_max_cores: float | None
        cpu_max_cores = self.cpu_max_cores

        visits = self.visits

        dwell: dict[str, Any] | None
        if isinstance(self.dwell, DwellTimeType0):
            dwell = self.dwell.to_dict()
        else:
            dwell = self.dwell

        next_ = []
        for next_item_data in self.next_:
            next_item = next_item_data.to_dict()
            next_.append(next_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "share": share,
                "memory_mean_bytes": memory_mean_bytes,
                "memory_sd_bytes": memory_sd_bytes,
                "memory_max_bytes": memory_max_bytes,
                "cpu_mean_cores": cpu_mean_cores,
                "cpu_sd_cores": cpu_sd_cores,
                "cpu_max_cores": cpu_max_cores,
                "visits": visits,
                "dwell": dwell,
                "next": next_,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.dwell_time_type_0 import DwellTimeType0
        from ..models.phase_transition import PhaseTransition

        d = dict(src_dict)
        id = d.pop("id")

        share = d.pop("share")

        memory_mean_bytes = d.pop("memory_mean_bytes")

        memory_sd_bytes = d.pop("memory_sd_bytes")

        memory_max_bytes = d.pop("memory_max_bytes")

        def _parse_cpu_mean_cores(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cpu_mean_cores = _parse_cpu_mean_cores(d.pop("cpu_mean_cores"))

        def _parse_cpu_sd_cores(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cpu_sd_cores = _parse_cpu_sd_cores(d.pop("cpu_sd_cores"))

        def _parse_cpu_max_cores(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cpu_max_cores = _parse_cpu_max_cores(d.pop("cpu_max_cores"))

        visits = d.pop("visits")

        def _parse_dwell(data: object) -> DwellTimeType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_dwell_time_type_0 = DwellTimeType0.from_dict(data)

                return componentsschemas_dwell_time_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DwellTimeType0 | None, data)

        dwell = _parse_dwell(d.pop("dwell"))

        next_ = []
        _next_ = d.pop("next")
        for next_item_data in _next_:
            next_item = PhaseTransition.from_dict(next_item_data)

            next_.append(next_item)

        task_phase = cls(
            id=id,
            share=share,
            memory_mean_bytes=memory_mean_bytes,
            memory_sd_bytes=memory_sd_bytes,
            memory_max_bytes=memory_max_bytes,
            cpu_mean_cores=cpu_mean_cores,
            cpu_sd_cores=cpu_sd_cores,
            cpu_max_cores=cpu_max_cores,
            visits=visits,
            dwell=dwell,
            next_=next_,
        )

        return task_phase
