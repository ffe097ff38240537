from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="FieldProblem")


@_attrs_define
class FieldProblem:
    """
    Attributes:
        field (str): The field as the client wrote it: `requested.memory`, `tasks[3].run_id`.
        detail (str): The problem and valid values.
    """

    field: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        field = self.field

        detail = self.detail

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "field": field,
                "detail": detail,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        field = d.pop("field")

        detail = d.pop("detail")

        field_problem = cls(
            field=field,
            detail=detail,
        )

        return field_problem
