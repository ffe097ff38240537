from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.phases_mode import PhasesMode
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.executed_resize import ExecutedResize


T = TypeVar("T", bound="ExecutedPlanType0")


@_attrs_define
class ExecutedPlanType0:
    """How the caller executed the plan of a prediction. The outcomes of tries whose memory followed a plan make later
    plans more or less cautious.

        Attributes:
            version (int): `version` of the plan.
            mode (PhasesMode): `off`: no plans. `observe`: predictions have a plan that no caller follows. `cpu`: the CPU
                request follows the plan. `memory`:
                the CPU request, the memory request and the memory limit follow it.
            followed (bool): True if every amount was in force in time until the try ended; false after a fallback to the
                static grant.
            start_bytes (int | None | Unset): Memory limit at the start.
            fallback (None | str | Unset): Why the caller fell back to the static grant.
            resizes (list[ExecutedResize] | None | Unset): The resizes in order of time.
    """

    version: int
    mode: PhasesMode
    followed: bool
    start_bytes: int | None | Unset = UNSET
    fallback: None | str | Unset = UNSET
    resizes: list[ExecutedResize] | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        mode = self.mode.value

        followed = self.followed

        start_bytes: int | None | Unset
        if isinstance(self.start_bytes, Unset):
            start_bytes = UNSET
        else:
            start_bytes = self.start_bytes

        fallback: None | str | Unset
        if isinstance(self.fallback, Unset):
            fallback = UNSET
        else:
            fallback = self.fallback

        resizes: list[dict[str, Any]] | None | Unset
        if isinstance(self.resizes, Unset):
            resizes = UNSET
        elif isinstance(self.resizes, list):
            resizes = []
            for resizes_type_0_item_data in self.resizes:
                resizes_type_0_item = resizes_type_0_item_data.to_dict()
                resizes.append(resizes_type_0_item)

        else:
            resizes = self.resizes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "version": version,
                "mode": mode,
                "followed": followed,
            }
        )
        if start_bytes is not UNSET:
            field_dict["start_bytes"] = start_bytes
        if fallback is not UNSET:
            field_dict["fallback"] = fallback
        if resizes is not UNSET:
            field_dict["resizes"] = resizes

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.executed_resize import ExecutedResize

        d = dict(src_dict)
        version = d.pop("version")

        mode = PhasesMode(d.pop("mode"))

        followed = d.pop("followed")

        def _parse_start_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        start_bytes = _parse_start_bytes(d.pop("start_bytes", UNSET))

        def _parse_fallback(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        fallback = _parse_fallback(d.pop("fallback", UNSET))

        def _parse_resizes(data: object) -> list[ExecutedResize] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                resizes_type_0 = []
                _resizes_type_0 = data
                for resizes_type_0_item_data in _resizes_type_0:
                    resizes_type_0_item = ExecutedResize.from_dict(resizes_type_0_item_data)

                    resizes_type_0.append(resizes_type_0_item)

                return resizes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[ExecutedResize] | None | Unset, data)

        resizes = _parse_resizes(d.pop("resizes", UNSET))

        executed_plan_type_0 = cls(
            version=version,
            mode=mode,
            followed=followed,
            start_bytes=start_bytes,
            fallback=fallback,
            resizes=resizes,
        )

        return executed_plan_type_0
