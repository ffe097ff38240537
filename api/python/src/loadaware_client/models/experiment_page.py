from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.experiment_summary import ExperimentSummary


T = TypeVar("T", bound="ExperimentPage")


@_attrs_define
class ExperimentPage:
    """
    Attributes:
        experiments (list[ExperimentSummary]):
        next_cursor (None | str): Null on the last page.
    """

    experiments: list[ExperimentSummary]
    next_cursor: None | str

    def to_dict(self) -> dict[str, Any]:
        experiments = []
        for experiments_item_data in self.experiments:
            experiments_item = experiments_item_data.to_dict()
            experiments.append(experiments_item)

        next_cursor: None | str
        next_cursor = self.next_cursor

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "experiments": experiments,
                "next_cursor": next_cursor,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.experiment_summary import ExperimentSummary

        d = dict(src_dict)
        experiments = []
        _experiments = d.pop("experiments")
        for experiments_item_data in _experiments:
            experiments_item = ExperimentSummary.from_dict(experiments_item_data)

            experiments.append(experiments_item)

        def _parse_next_cursor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_cursor = _parse_next_cursor(d.pop("next_cursor"))

        experiment_page = cls(
            experiments=experiments,
            next_cursor=next_cursor,
        )

        return experiment_page
