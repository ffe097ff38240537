from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.grid import Grid
from ..models.mode import Mode
from ..models.policy_request_phases_type_1 import PolicyRequestPhasesType1
from ..models.policy_request_phases_type_2_type_1 import PolicyRequestPhasesType2Type1
from ..models.policy_request_phases_type_3_type_1 import PolicyRequestPhasesType3Type1
from ..types import UNSET, Unset

T = TypeVar("T", bound="PolicyRequest")


@_attrs_define
class PolicyRequest:
    """The settings of a task that an operator may change.

    Attributes:
        mode (Mode | None | Unset): `enforce` if omitted.
        floor_bytes (int | None | Unset): Minimum allocation; at least 1Mi.
        floor (None | str | Unset):
        cap_bytes (int | None | Unset): Maximum allocation; at least 1Mi. If omitted, and the request has no
            `max_memory`, it is four times the largest of static request, largest peak, floor and the minimum grant of the
            server (`--min-memory`). A kill raises this default to four times the killed allocation, but at most to four
            times the default. If an input is larger than all known ones, this default is at least four times the peak that
            is predicted for this input.
        cap (None | str | Unset):
        risk_target (float | None | Unset): Accepted probability of an OOM kill of a first try; 0.015 if omitted.
        max_lifts (int | None | Unset): Maximum number of lifts of one run; the last lift goes to the cap. 3 if omitted.
        limit_ratio (float | None | Unset): Ratio of limit to request; 1 if omitted. The request stays at or above the
            floor. In an answer with the source `requested`, request and limit are equal: the static request, in the mode
            `enforce` within floor and cap.
        never_above_requested (bool | None | Unset): If true, the allocation of a first try is at most the static
            request.
        cpu_unmanaged (bool | None | Unset): If true, answers have the requested CPU unchanged.
        grid (Grid | None | Unset): Granularity of allocations: `fine` (whole MiB, the default, least waste) or `bins`
            (rounded up to the edges in `bin_edges_bytes`, or to the optimised edges of the task).
        bin_edges_bytes (list[int] | None | Unset): Ascending upper edges for the grid `bins`. An amount above the last
            edge is not rounded. The cap also applies if it is below an edge.
        phases (None | PolicyRequestPhasesType1 | PolicyRequestPhasesType2Type1 | PolicyRequestPhasesType3Type1 |
            Unset): Whether the amounts may change during a run: `off` (the default), `observe` (the plan is only recorded),
            `cpu` or `memory`.
    """

    mode: Mode | None | Unset = UNSET
    floor_bytes: int | None | Unset = UNSET
    floor: None | str | Unset = UNSET
    cap_bytes: int | None | Unset = UNSET
    cap: None | str | Unset = UNSET
    risk_target: float | None | Unset = UNSET
    max_lifts: int | None | Unset = UNSET
    limit_ratio: float | None | Unset = UNSET
    never_above_requested: bool | None | Unset = UNSET
    cpu_unmanaged: bool | None | Unset = UNSET
    grid: Grid | None | Unset = UNSET
    bin_edges_bytes: list[int] | None | Unset = UNSET
    phases: None | PolicyRequestPhasesType1 | PolicyRequestPhasesType2Type1 | PolicyRequestPhasesType3Type1 | Unset = (
        UNSET
    )

    def to_dict(self) -> dict[str, Any]:
        mode: None | str | Unset
        if isinstance(self.mode, Unset):
            mode = UNSET
        elif isinstance(self.mode, Mode):
            mode = self.mode.value
        else:
            mode = self.mode

        floor_bytes: int | None | Unset
        if isinstance(self.floor_bytes, Unset):
            floor_bytes = UNSET
        else:
            floor_bytes = self.floor_bytes

        floor: None | str | Unset
        if isinstance(self.floor, Unset):
            floor = UNSET
        else:
            floor = self.floor

        cap_bytes: int | None | Unset
        if isinstance(self.cap_bytes, Unset):
            cap_bytes = UNSET
        else:
            cap_bytes = self.cap_bytes

        cap: None | str | Unset
        if isinstance(self.cap, Unset):
            cap = UNSET
        else:
            cap = self.cap

        risk_target: float | None | Unset
        if isinstance(self.risk_target, Unset):
            risk_target = UNSET
        else:
            risk_target = self.risk_target

        max_lifts: int | None | Unset
        if isinstance(self.max_lifts, Unset):
            max_lifts = UNSET
        else:
            max_lifts = self.max_lifts

        limit_ratio: float | None | Unset
        if isinstance(self.limit_ratio, Unset):
            limit_ratio = UNSET
        else:
            limit_ratio = self.limit_ratio

        never_above_requested: bool | None | Unset
        if isinstance(self.never_above_requested, Unset):
            never_above_requested = UNSET
        else:
            never_above_requested = self.never_above_requested

        cpu_unmanaged: bool | None | Unset
        if isinstance(self.cpu_unmanaged, Unset):
            cpu_unmanaged = UNSET
        else:
            cpu_unmanaged = self.cpu_unmanaged

        grid: None | str | Unset
        if isinstance(self.grid, Unset):
            grid = UNSET
        elif isinstance(self.grid, Grid):
            grid = self.grid.value
        else:
            grid = self.grid

        bin_edges_bytes: list[int] | None | Unset
        if isinstance(self.bin_edges_bytes, Unset):
            bin_edges_bytes = UNSET
        elif isinstance(self.bin_edges_bytes, list):
            bin_edges_bytes = self.bin_edges_bytes

        else:
            bin_edges_bytes = self.bin_edges_bytes

        phases: None | str | Unset
        if isinstance(self.phases, Unset):
            phases = UNSET
        elif isinstance(self.phases, PolicyRequestPhasesType1):
            phases = self.phases.value
        elif isinstance(self.phases, PolicyRequestPhasesType2Type1):
            phases = self.phases.value
        elif isinstance(self.phases, PolicyRequestPhasesType3Type1):
            phases = self.phases.value
        else:
            phases = self.phases

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if mode is not UNSET:
            field_dict["mode"] = mode
        if floor_bytes is not UNSET:
            field_dict["floor_bytes"] = floor_bytes
        if floor is not UNSET:
            field_dict["floor"] = floor
        if cap_bytes is not UNSET:
            field_dict["cap_bytes"] = cap_bytes
        if cap is not UNSET:
            field_dict["cap"] = cap
        if risk_target is not UNSET:
            field_dict["risk_target"] = risk_target
        if max_lifts is not UNSET:
            field_dict["max_lifts"] = max_lifts
        if limit_ratio is not UNSET:
            field_dict["limit_ratio"] = limit_ratio
        if never_above_requested is not UNSET:
            field_dict["never_above_requested"] = never_above_requested
        if cpu_unmanaged is not UNSET:
            field_dict["cpu_unmanaged"] = cpu_unmanaged
        if grid is not UNSET:
            field_dict["grid"] = grid
        if bin_edges_bytes is not UNSET:
            field_dict["bin_edges_bytes"] = bin_edges_bytes
        if phases is not UNSET:
            field_dict["phases"] = phases

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_mode(data: object) -> Mode | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                mode_type_1 = Mode(data)

                return mode_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Mode | None | Unset, data)

        mode = _parse_mode(d.pop("mode", UNSET))

        def _parse_floor_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        floor_bytes = _parse_floor_bytes(d.pop("floor_bytes", UNSET))

        def _parse_floor(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        floor = _parse_floor(d.pop("floor", UNSET))

        def _parse_cap_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        cap_bytes = _parse_cap_bytes(d.pop("cap_bytes", UNSET))

        def _parse_cap(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        cap = _parse_cap(d.pop("cap", UNSET))

        def _parse_risk_target(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        risk_target = _parse_risk_target(d.pop("risk_target", UNSET))

        def _parse_max_lifts(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_lifts = _parse_max_lifts(d.pop("max_lifts", UNSET))

        def _parse_limit_ratio(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        limit_ratio = _parse_limit_ratio(d.pop("limit_ratio", UNSET))

        def _parse_never_above_requested(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        never_above_requested = _parse_never_above_requested(d.pop("never_above_requested", UNSET))

        def _parse_cpu_unmanaged(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        cpu_unmanaged = _parse_cpu_unmanaged(d.pop("cpu_unmanaged", UNSET))

        def _parse_grid(data: object) -> Grid | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                grid_type_1 = Grid(data)

                return grid_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Grid | None | Unset, data)

        grid = _parse_grid(d.pop("grid", UNSET))

        def _parse_bin_edges_bytes(data: object) -> list[int] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                bin_edges_bytes_type_0 = cast(list[int], data)

                return bin_edges_bytes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None | Unset, data)

        bin_edges_bytes = _parse_bin_edges_bytes(d.pop("bin_edges_bytes", UNSET))

        def _parse_phases(
            data: object,
        ) -> None | PolicyRequestPhasesType1 | PolicyRequestPhasesType2Type1 | PolicyRequestPhasesType3Type1 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                phases_type_1 = PolicyRequestPhasesType1(data)

                return phases_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                phases_type_2_type_1 = PolicyRequestPhasesType2Type1(data)

                return phases_type_2_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                phases_type_3_type_1 = PolicyRequestPhasesType3Type1(data)

                return phases_type_3_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(
                None | PolicyRequestPhasesType1 | PolicyRequestPhasesType2Type1 | PolicyRequestPhasesType3Type1 | Unset,
                data,
            )

        phases = _parse_phases(d.pop("phases", UNSET))

        policy_request = cls(
            mode=mode,
            floor_bytes=floor_bytes,
            floor=floor,
            cap_bytes=cap_bytes,
            cap=cap,
            risk_target=risk_target,
            max_lifts=max_lifts,
            limit_ratio=limit_ratio,
            never_above_requested=never_above_requested,
            cpu_unmanaged=cpu_unmanaged,
            grid=grid,
            bin_edges_bytes=bin_edges_bytes,
            phases=phases,
        )

        return policy_request
