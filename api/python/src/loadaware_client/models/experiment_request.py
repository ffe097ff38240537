from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.experiment_model_request import ExperimentModelRequest
    from ..models.experiment_request_parameters import ExperimentRequestParameters
    from ..models.experiment_request_report import ExperimentRequestReport
    from ..models.experiment_request_rows_item import ExperimentRequestRowsItem


T = TypeVar("T", bound="ExperimentRequest")


@_attrs_define
class ExperimentRequest:
    """
    Attributes:
        name (str | Unset): A unique name; an experiment without a name is addressed by its id.
        fingerprint (str | Unset): SHA-256 of the training history, hexadecimal.
        parameters (ExperimentRequestParameters | Unset): Parameters of the experiment.
        rows (list[ExperimentRequestRowsItem] | Unset): Results, one object for each task, family, set of bins, kind of
            oversampling, split and seed.
        report (ExperimentRequestReport | Unset): The complete report.
        models (list[ExperimentModelRequest] | Unset):
    """

    name: str | Unset = UNSET
    fingerprint: str | Unset = UNSET
    parameters: ExperimentRequestParameters | Unset = UNSET
    rows: list[ExperimentRequestRowsItem] | Unset = UNSET
    report: ExperimentRequestReport | Unset = UNSET
    models: list[ExperimentModelRequest] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        fingerprint = self.fingerprint

        parameters: dict[str, Any] | Unset = UNSET
        if not isinstance(self.parameters, Unset):
            parameters = self.parameters.to_dict()

        rows: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.rows, Unset):
            rows = []
            for rows_item_data in self.rows:
                rows_item = rows_item_data.to_dict()
                rows.append(rows_item)

        report: dict[str, Any] | Unset = UNSET
        if not isinstance(self.report, Unset):
            report = self.report.to_dict()

        models: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.models, Unset):
            models = []
            for models_item_data in self.models:
                models_item = models_item_data.to_dict()
                models.append(models_item)

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if fingerprint is not UNSET:
            field_dict["fingerprint"] = fingerprint
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if rows is not UNSET:
            field_dict["rows"] = rows
        if report is not UNSET:
            field_dict["report"] = report
        if models is not UNSET:
            field_dict["models"] = models

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.experiment_model_request import ExperimentModelRequest
        from ..models.experiment_request_parameters import ExperimentRequestParameters
        from ..models.experiment_request_report import ExperimentRequestReport
        from ..models.experiment_request_rows_item import ExperimentRequestRowsItem

        d = dict(src_dict)
        name = d.pop("name", UNSET)

        fingerprint = d.pop("fingerprint", UNSET)

        _parameters = d.pop("parameters", UNSET)
        parameters: ExperimentRequestParameters | Unset
        if isinstance(_parameters, Unset):
            parameters = UNSET
        else:
            parameters = ExperimentRequestParameters.from_dict(_parameters)

        _rows = d.pop("rows", UNSET)
        rows: list[ExperimentRequestRowsItem] | Unset = UNSET
        if _rows is not UNSET:
            rows = []
            for rows_item_data in _rows:
                rows_item = ExperimentRequestRowsItem.from_dict(rows_item_data)

                rows.append(rows_item)

        _report = d.pop("report", UNSET)
        report: ExperimentRequestReport | Unset
        if isinstance(_report, Unset):
            report = UNSET
        else:
            report = ExperimentRequestReport.from_dict(_report)

        _models = d.pop("models", UNSET)
        models: list[ExperimentModelRequest] | Unset = UNSET
        if _models is not UNSET:
            models = []
            for models_item_data in _models:
                models_item = ExperimentModelRequest.from_dict(models_item_data)

                models.append(models_item)

        experiment_request = cls(
            name=name,
            fingerprint=fingerprint,
            parameters=parameters,
            rows=rows,
            report=report,
            models=models,
        )

        return experiment_request
