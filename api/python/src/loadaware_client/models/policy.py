from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.grid import Grid
from ..models.mode import Mode
from ..models.phases_mode import PhasesMode

T = TypeVar("T", bound="Policy")


@_attrs_define
class Policy:
    """The settings of a task in force, including defaults. The schema PolicyRequest describes them.

    Attributes:
        mode (Mode): `enforce` grants the prediction; `shadow` grants the static request and shows the prediction in the
            field `shadow`; `off` grants the static request.
        floor_bytes (int | None):
        floor (None | str):
        cap_bytes (int | None):
        cap (None | str):
        risk_target (float):
        max_lifts (int):
        limit_ratio (float):
        never_above_requested (bool):
        cpu_unmanaged (bool):
        grid (Grid): `fine`: allocations are whole MiB. `bins`: they are rounded up to edges of bins.
        bin_edges_bytes (list[int] | None):
        phases (PhasesMode): `off`: no plans. `observe`: predictions have a plan that no caller follows. `cpu`: the CPU
            request follows the plan. `memory`:
            the CPU request, the memory request and the memory limit follow it.
    """

    mode: Mode
    floor_bytes: int | None
    floor: None | str
    cap_bytes: int | None
    cap: None | str
    risk_target: float
    max_lifts: int
    limit_ratio: float
    never_above_requested: bool
    cpu_unmanaged: bool
    grid: Grid
    bin_edges_bytes: list[int] | None
    phases: PhasesMode

    def to_dict(self) -> dict[str, Any]:
        mode = self.mode.value

        floor_bytes: int | None
        floor_bytes = self.floor_bytes

        floor: None | str
        floor = self.floor

        cap_bytes: int | None
        cap_bytes = self.cap_bytes

        cap: None | str
        cap = self.cap

        risk_target = self.risk_target

        max_lifts = self.max_lifts

        limit_ratio = self.limit_ratio

        never_above_requested = self.never_above_requested

        cpu_unmanaged = self.cpu_unmanaged

        grid = self.grid.value

        bin_edges_bytes: list[int] | None
        if isinstance(self.bin_edges_bytes, list):
            bin_edges_bytes = self.bin_edges_bytes

        else:
            bin_edges_bytes = self.bin_edges_bytes

        phases = self.phases.value

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "mode": mode,
                "floor_bytes": floor_bytes,
                "floor": floor,
                "cap_bytes": cap_bytes,
                "cap": cap,
                "risk_target": risk_target,
                "max_lifts": max_lifts,
                "limit_ratio": limit_ratio,
                "never_above_requested": never_above_requested,
                "cpu_unmanaged": cpu_unmanaged,
                "grid": grid,
                "bin_edges_bytes": bin_edges_bytes,
                "phases": phases,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        mode = Mode(d.pop("mode"))

        def _parse_floor_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        floor_bytes = _parse_floor_bytes(d.pop("floor_bytes"))

        def _parse_floor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        floor = _parse_floor(d.pop("floor"))

        def _parse_cap_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        cap_bytes = _parse_cap_bytes(d.pop("cap_bytes"))

        def _parse_cap(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        cap = _parse_cap(d.pop("cap"))

        risk_target = d.pop("risk_target")

        max_lifts = d.pop("max_lifts")

        limit_ratio = d.pop("limit_ratio")

        never_above_requested = d.pop("never_above_requested")

        cpu_unmanaged = d.pop("cpu_unmanaged")

        grid = Grid(d.pop("grid"))

        def _parse_bin_edges_bytes(data: object) -> list[int] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                bin_edges_bytes_type_0 = cast(list[int], data)

                return bin_edges_bytes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None, data)

        bin_edges_bytes = _parse_bin_edges_bytes(d.pop("bin_edges_bytes"))

        phases = PhasesMode(d.pop("phases"))

        policy = cls(
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

        return policy
