from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.experiment_model import ExperimentModel
    from ..models.experiment_parameters_type_0 import ExperimentParametersType0
    from ..models.experiment_report_type_0 import ExperimentReportType0
    from ..models.experiment_rows_type_0_item import ExperimentRowsType0Item


T = TypeVar("T", bound="Experiment")


@_attrs_define
class Experiment:
    """
    Attributes:
        id (int):
        name (None | str):
        created_at (datetime.datetime):
        fingerprint (str):
        parameters (ExperimentParametersType0 | None):
        rows (list[ExperimentRowsType0Item] | None):
        report (ExperimentReportType0 | None):
        models (list[ExperimentModel]):
    """

    id: int
    name: None | str
    created_at: datetime.datetime
    fingerprint: str
    parameters: ExperimentParametersType0 | None
    rows: list[ExperimentRowsType0Item] | None
    report: ExperimentReportType0 | None
    models: list[ExperimentModel]

    def to_dict(self) -> dict[str, Any]:
        from ..models.experiment_parameters_type_0 import ExperimentParametersType0
        from ..models.experiment_report_type_0 import ExperimentReportType0

        id = self.id

        name: None | str
        name = self.name

        created_at = self.created_at.isoformat()

        fingerprint = self.fingerprint

        parameters: dict[str, Any] | None
        if isinstance(self.parameters, ExperimentParametersType0):
            parameters = self.parameters.to_dict()
        else:
            parameters = self.parameters

        rows: list[dict[str, Any]] | None
        if isinstance(self.rows, list):
            rows = []
            for rows_type_0_item_data in self.rows:
                rows_type_0_item = rows_type_0_item_data.to_dict()
                rows.append(rows_type_0_item)

        else:
            rows = self.rows

        report: dict[str, Any] | None
        if isinstance(self.report, ExperimentReportType0):
            report = self.report.to_dict()
        else:
            report = self.report

        models = []
        for models_item_data in self.models:
            models_item = models_item_data.to_dict()
            models.append(models_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "name": name,
                "created_at": created_at,
                "fingerprint": fingerprint,
                "parameters": parameters,
                "rows": rows,
                "report": report,
                "models": models,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.experiment_model import ExperimentModel
        from ..models.experiment_parameters_type_0 import ExperimentParametersType0
        from ..models.experiment_report_type_0 import ExperimentReportType0
        from ..models.experiment_rows_type_0_item import ExperimentRowsType0Item

        d = dict(src_dict)
        id = d.pop("id")

        def _parse_name(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        name = _parse_name(d.pop("name"))

        created_at = isoparse(d.pop("created_at"))

        fingerprint = d.pop("fingerprint")

        def _parse_parameters(data: object) -> ExperimentParametersType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = ExperimentParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExperimentParametersType0 | None, data)

        parameters = _parse_parameters(d.pop("parameters"))

        def _parse_rows(data: object) -> list[ExperimentRowsType0Item] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                rows_type_0 = []
                _rows_type_0 = data
                for rows_type_0_item_data in _rows_type_0:
                    rows_type_0_item = ExperimentRowsType0Item.from_dict(rows_type_0_item_data)

                    rows_type_0.append(rows_type_0_item)

                return rows_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[ExperimentRowsType0Item] | None, data)

        rows = _parse_rows(d.pop("rows"))

        def _parse_report(data: object) -> ExperimentReportType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                report_type_0 = ExperimentReportType0.from_dict(data)

                return report_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExperimentReportType0 | None, data)

        report = _parse_report(d.pop("report"))

        models = []
        _models = d.pop("models")
        for models_item_data in _models:
            models_item = ExperimentModel.from_dict(models_item_data)

            models.append(models_item)

        experiment = cls(
            id=id,
            name=name,
            created_at=created_at,
            fingerprint=fingerprint,
            parameters=parameters,
            rows=rows,
            report=report,
            models=models,
        )

        return experiment
