from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.experiment_summary_parameters_type_0 import (
        ExperimentSummaryParametersType0,
    )


T = TypeVar("T", bound="ExperimentSummary")


@_attrs_define
class ExperimentSummary:
    """
    Attributes:
        id (int):
        name (None | str):
        created_at (datetime.datetime):
        fingerprint (str):
        parameters (ExperimentSummaryParametersType0 | None):
        tasks (list[str]): Distinct tasks, in the order of their first rows.
        families (list[str]): Distinct families, in the order of their first rows.
        rows (int): Number of rows.
    """

    id: int
    name: None | str
    created_at: datetime.datetime
    fingerprint: str
    parameters: ExperimentSummaryParametersType0 | None
    tasks: list[str]
    families: list[str]
    rows: int

    def to_dict(self) -> dict[str, Any]:
        from ..models.experiment_summary_parameters_type_0 import (
            ExperimentSummaryParametersType0,
        )

        id = self.id

        name: None | str
        name = self.name

        created_at = self.created_at.isoformat()

        fingerprint = self.fingerprint

        parameters: dict[str, Any] | None
        if isinstance(self.parameters, ExperimentSummaryParametersType0):
            parameters = self.parameters.to_dict()
        else:
            parameters = self.parameters

        tasks = self.tasks

        families = self.families

        rows = self.rows

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "name": name,
                "created_at": created_at,
                "fingerprint": fingerprint,
                "parameters": parameters,
                "tasks": tasks,
                "families": families,
                "rows": rows,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.experiment_summary_parameters_type_0 import (
            ExperimentSummaryParametersType0,
        )

        d = dict(src_dict)
        id = d.pop("id")

        def _parse_name(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        name = _parse_name(d.pop("name"))

        created_at = isoparse(d.pop("created_at"))

        fingerprint = d.pop("fingerprint")

        def _parse_parameters(data: object) -> ExperimentSummaryParametersType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = ExperimentSummaryParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExperimentSummaryParametersType0 | None, data)

        parameters = _parse_parameters(d.pop("parameters"))

        tasks = cast(list[str], d.pop("tasks"))

        families = cast(list[str], d.pop("families"))

        rows = d.pop("rows")

        experiment_summary = cls(
            id=id,
            name=name,
            created_at=created_at,
            fingerprint=fingerprint,
            parameters=parameters,
            tasks=tasks,
            families=families,
            rows=rows,
        )

        return experiment_summary
