from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.recorded_or_error import RecordedOrError


T = TypeVar("T", bound="ObserveBatchAnswer")


@_attrs_define
class ObserveBatchAnswer:
    """
    Attributes:
        results (list[RecordedOrError]):
    """

    results: list[RecordedOrError]

    def to_dict(self) -> dict[str, Any]:
        results = []
        for results_item_data in self.results:
            results_item = results_item_data.to_dict()
            results.append(results_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "results": results,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.recorded_or_error import RecordedOrError

        d = dict(src_dict)
        results = []
        _results = d.pop("results")
        for results_item_data in _results:
            results_item = RecordedOrError.from_dict(results_item_data)

            results.append(results_item)

        observe_batch_answer = cls(
            results=results,
        )

        return observe_batch_answer
