from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.guard import Guard
    from ..models.predict_request import PredictRequest
    from ..models.prediction import Prediction


T = TypeVar("T", bound="Receipt")


@_attrs_define
class Receipt:
    """
    Attributes:
        prediction_id (str): `prediction_id` of a prediction.
        answered_at (datetime.datetime):
        ask (PredictRequest): The request before a launch.
        answer (Prediction): The allocation and its reason.
        guard (Guard): The state of the model's margins at the time of the answer.
    """

    prediction_id: str
    answered_at: datetime.datetime
    ask: PredictRequest
    answer: Prediction
    guard: Guard

    def to_dict(self) -> dict[str, Any]:
        prediction_id = self.prediction_id

        answered_at = self.answered_at.isoformat()

        ask = self.ask.to_dict()

        answer = self.answer.to_dict()

        guard = self.guard.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "prediction_id": prediction_id,
                "answered_at": answered_at,
                "ask": ask,
                "answer": answer,
                "guard": guard,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.guard import Guard
        from ..models.predict_request import PredictRequest
        from ..models.prediction import Prediction

        d = dict(src_dict)
        prediction_id = d.pop("prediction_id")

        answered_at = isoparse(d.pop("answered_at"))

        ask = PredictRequest.from_dict(d.pop("ask"))

        answer = Prediction.from_dict(d.pop("answer"))

        guard = Guard.from_dict(d.pop("guard"))

        receipt = cls(
            prediction_id=prediction_id,
            answered_at=answered_at,
            ask=ask,
            answer=answer,
            guard=guard,
        )

        return receipt
