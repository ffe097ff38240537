from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.model_version_exam_type_0 import ModelVersionExamType0


T = TypeVar("T", bound="ModelVersion")


@_attrs_define
class ModelVersion:
    """
    Attributes:
        version (int):
        family (str):
        observations (int): Number of reports of the task at the training, including those that retention removed.
        trained_at (datetime.datetime):
        active (bool): The version answers predictions.
        pinned_by (None | str): Who pinned the active version, as `who` in `GET /audit`; null if no one did, and for
            other versions. A training may replace the active version only if this is null or `watchdog`.
        withdrawn (bool): First tries with the grants of the version were killed clearly more often than promised;
            automatic rollbacks do not return to it.
        exam (ModelVersionExamType0 | None): Evaluation of the version; free form.
    """

    version: int
    family: str
    observations: int
    trained_at: datetime.datetime
    active: bool
    pinned_by: None | str
    withdrawn: bool
    exam: ModelVersionExamType0 | None

    def to_dict(self) -> dict[str, Any]:
        from ..models.model_version_exam_type_0 import ModelVersionExamType0

        version = self.version

        family = self.family

        observations = self.observations

        trained_at = self.trained_at.isoformat()

        active = self.active

        pinned_by: None | str
        pinned_by = self.pinned_by

        withdrawn = self.withdrawn

        exam: dict[str, Any] | None
        if isinstance(self.exam, ModelVersionExamType0):
            exam = self.exam.to_dict()
        else:
            exam = self.exam

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "version": version,
                "family": family,
                "observations": observations,
                "trained_at": trained_at,
                "active": active,
                "pinned_by": pinned_by,
                "withdrawn": withdrawn,
                "exam": exam,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.model_version_exam_type_0 import ModelVersionExamType0

        d = dict(src_dict)
        version = d.pop("version")

        family = d.pop("family")

        observations = d.pop("observations")

        trained_at = isoparse(d.pop("trained_at"))

        active = d.pop("active")

        def _parse_pinned_by(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        pinned_by = _parse_pinned_by(d.pop("pinned_by"))

        withdrawn = d.pop("withdrawn")

        def _parse_exam(data: object) -> ModelVersionExamType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                exam_type_0 = ModelVersionExamType0.from_dict(data)

                return exam_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ModelVersionExamType0 | None, data)

        exam = _parse_exam(d.pop("exam"))

        model_version = cls(
            version=version,
            family=family,
            observations=observations,
            trained_at=trained_at,
            active=active,
            pinned_by=pinned_by,
            withdrawn=withdrawn,
            exam=exam,
        )

        return model_version
