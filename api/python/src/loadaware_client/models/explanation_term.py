from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.explanation_term_kind import ExplanationTermKind

T = TypeVar("T", bound="ExplanationTerm")


@_attrs_define
class ExplanationTerm:
    """
    Attributes:
        kind (ExplanationTermKind): What the factor comes from. `feature`: a feature, a fact about the task, earlier
            runs with identical features, or recent errors of the model.
            `margin`: the safety margin above the expected peak. `pool`: a correction from the kills of the tasks of the DAG
            and of the other DAGs of the namespace.
            `guard`: a factor above 1 while clearly more runs were killed than promised. `cohort`: the amount that similar
            tasks need. `lift`: a larger amount because of OOM kills.
            `ceiling`: an upper bound other than the cap, such as the static request. `headroom`: an addition to the peaks
            of identical runs.
            `floor`: the floor of the policy, the minimum grant, or another lower bound. `cap`: the cap, or an unknown upper
            bound. `rounding`: whole MiB, or the
            edges of bins.
        name (str): The feature or the rule, for people.
        value (None | str): The value of a feature.
        factor (float): The factor at full precision.
        bytes_after (int): `base_bytes` times all factors up to this one, rounded; at most 8 PiB.
    """

    kind: ExplanationTermKind
    name: str
    value: None | str
    factor: float
    bytes_after: int

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind.value

        name = self.name

        value: None | str
        value = self.value

        factor = self.factor

        bytes_after = self.bytes_after

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "kind": kind,
                "name": name,
                "value": value,
                "factor": factor,
                "bytes_after": bytes_after,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        kind = ExplanationTermKind(d.pop("kind"))

        name = d.pop("name")

        def _parse_value(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        value = _parse_value(d.pop("value"))

        factor = d.pop("factor")

        bytes_after = d.pop("bytes_after")

        explanation_term = cls(
            kind=kind,
            name=name,
            value=value,
            factor=factor,
            bytes_after=bytes_after,
        )

        return explanation_term
