from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.what_if_state import WhatIfState
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.what_if_result import WhatIfResult
    from ..models.what_if_shift import WhatIfShift


T = TypeVar("T", bound="WhatIf")


@_attrs_define
class WhatIf:
    """
    Attributes:
        id (str):
        state (WhatIfState):
        progress (float): Share of the work that is done.
        error (None | str | Unset): Why the replay failed.
        rows (int | None | Unset): Replayed runs.
        left_out (int | None | Unset): Tries that are not replayed because they are no success or have no measured peak
            or duration.
        current (WhatIfResult | Unset): The results of a replay with these settings. GB is 1e9 bytes.
        results (list[WhatIfResult] | Unset): One result for each of `settings`.
        set_ (WhatIfShift | Unset): Grants that the model would give to the newest tries before and after features are
            replaced.
    """

    id: str
    state: WhatIfState
    progress: float
    error: None | str | Unset = UNSET
    rows: int | None | Unset = UNSET
    left_out: int | None | Unset = UNSET
    current: WhatIfResult | Unset = UNSET
    results: list[WhatIfResult] | Unset = UNSET
    set_: WhatIfShift | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        state = self.state.value

        progress = self.progress

        error: None | str | Unset
        if isinstance(self.error, Unset):
            error = UNSET
        else:
            error = self.error

        rows: int | None | Unset
        if isinstance(self.rows, Unset):
            rows = UNSET
        else:
            rows = self.rows

        left_out: int | None | Unset
        if isinstance(self.left_out, Unset):
            left_out = UNSET
        else:
            left_out = self.left_out

        current: dict[str, Any] | Unset = UNSET
        if not isinstance(self.current, Unset):
            current = self.current.to_dict()

        results: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.results, Unset):
            results = []
            for results_item_data in self.results:
                results_item = results_item_data.to_dict()
                results.append(results_item)

        set_: dict[str, Any] | Unset = UNSET
        if not isinstance(self.set_, Unset):
            set_ = self.set_.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "state": state,
                "progress": progress,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error
        if rows is not UNSET:
            field_dict["rows"] = rows
        if left_out is not UNSET:
            field_dict["left_out"] = left_out
        if current is not UNSET:
            field_dict["current"] = current
        if results is not UNSET:
            field_dict["results"] = results
        if set_ is not UNSET:
            field_dict["set"] = set_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.what_if_result import WhatIfResult
        from ..models.what_if_shift import WhatIfShift

        d = dict(src_dict)
        id = d.pop("id")

        state = WhatIfState(d.pop("state"))

        progress = d.pop("progress")

        def _parse_error(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        error = _parse_error(d.pop("error", UNSET))

        def _parse_rows(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        rows = _parse_rows(d.pop("rows", UNSET))

        def _parse_left_out(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        left_out = _parse_left_out(d.pop("left_out", UNSET))

        _current = d.pop("current", UNSET)
        current: WhatIfResult | Unset
        if isinstance(_current, Unset):
            current = UNSET
        else:
            current = WhatIfResult.from_dict(_current)

        _results = d.pop("results", UNSET)
        results: list[WhatIfResult] | Unset = UNSET
        if _results is not UNSET:
            results = []
            for results_item_data in _results:
                results_item = WhatIfResult.from_dict(results_item_data)

                results.append(results_item)

        _set_ = d.pop("set", UNSET)
        set_: WhatIfShift | Unset
        if isinstance(_set_, Unset):
            set_ = UNSET
        else:
            set_ = WhatIfShift.from_dict(_set_)

        what_if = cls(
            id=id,
            state=state,
            progress=progress,
            error=error,
            rows=rows,
            left_out=left_out,
            current=current,
            results=results,
            set_=set_,
        )

        return what_if
