from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.what_if_settings import WhatIfSettings


T = TypeVar("T", bound="WhatIfResult")


@_attrs_define
class WhatIfResult:
    """The results of a replay with these settings. GB is 1e9 bytes.

    Attributes:
        settings (WhatIfSettings): Replaces parts of the policies. An omitted field does not change the policy of a
            task.
        rows (int):
        utilisation_percent (float): Used GB·h as a percentage of used and wasted GB·h.
        used_gbh (float): GB·h of the peaks of the runs that succeeded.
        wasted_gbh (float): GB·h that were granted and not used; a killed try wastes its whole allocation.
        killed_percent (float): Percentage of runs with an OOM kill.
        lifts (int): Number of tries after an OOM kill.
        gave_up (int): Number of runs that never got enough memory.
        promised_percent (float | None): Mean promised risk of the first tries; null if none was promised.
        realised_percent (float | None): Percentage of the first tries with a promised risk that were killed.
    """

    settings: WhatIfSettings
    rows: int
    utilisation_percent: float
    used_gbh: float
    wasted_gbh: float
    killed_percent: float
    lifts: int
    gave_up: int
    promised_percent: float | None
    realised_percent: float | None

    def to_dict(self) -> dict[str, Any]:
        settings = self.settings.to_dict()

        rows = self.rows

        utilisation_percent = self.utilisation_percent

        used_gbh = self.used_gbh

        wasted_gbh = self.wasted_gbh

        killed_percent = self.killed_percent

        lifts = self.lifts

        gave_up = self.gave_up

        promised_percent: float | None
        promised_percent = self.promised_percent

        realised_percent: float | None
        realised_percent = self.realised_percent

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "settings": settings,
                "rows": rows,
                "utilisation_percent": utilisation_percent,
                "used_gbh": used_gbh,
                "wasted_gbh": wasted_gbh,
                "killed_percent": killed_percent,
                "lifts": lifts,
                "gave_up": gave_up,
                "promised_percent": promised_percent,
                "realised_percent": realised_percent,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.what_if_settings import WhatIfSettings

        d = dict(src_dict)
        settings = WhatIfSettings.from_dict(d.pop("settings"))

        rows = d.pop("rows")

        utilisation_percent = d.pop("utilisation_percent")

        used_gbh = d.pop("used_gbh")

        wasted_gbh = d.pop("wasted_gbh")

        killed_percent = d.pop("killed_percent")

        lifts = d.pop("lifts")

        gave_up = d.pop("gave_up")

        def _parse_promised_percent(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        promised_percent = _parse_promised_percent(d.pop("promised_percent"))

        def _parse_realised_percent(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        realised_percent = _parse_realised_percent(d.pop("realised_percent"))

        what_if_result = cls(
            settings=settings,
            rows=rows,
            utilisation_percent=utilisation_percent,
            used_gbh=used_gbh,
            wasted_gbh=wasted_gbh,
            killed_percent=killed_percent,
            lifts=lifts,
            gave_up=gave_up,
            promised_percent=promised_percent,
            realised_percent=realised_percent,
        )

        return what_if_result
