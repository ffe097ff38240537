from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.grant_quantiles import GrantQuantiles


T = TypeVar("T", bound="WhatIfShift")


@_attrs_define
class WhatIfShift:
    """Grants that the model would give to the newest tries before and after features are replaced.

    Attributes:
        runs (int):
        before (GrantQuantiles):
        after (GrantQuantiles):
    """

    runs: int
    before: GrantQuantiles
    after: GrantQuantiles

    def to_dict(self) -> dict[str, Any]:
        runs = self.runs

        before = self.before.to_dict()

        after = self.after.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "runs": runs,
                "before": before,
                "after": after,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.grant_quantiles import GrantQuantiles

        d = dict(src_dict)
        runs = d.pop("runs")

        before = GrantQuantiles.from_dict(d.pop("before"))

        after = GrantQuantiles.from_dict(d.pop("after"))

        what_if_shift = cls(
            runs=runs,
            before=before,
            after=after,
        )

        return what_if_shift
