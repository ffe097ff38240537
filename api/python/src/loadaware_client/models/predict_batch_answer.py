from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.item_error import ItemError
    from ..models.prediction import Prediction


T = TypeVar("T", bound="PredictBatchAnswer")


@_attrs_define
class PredictBatchAnswer:
    """
    Attributes:
        predictions (list[ItemError | Prediction]):
    """

    predictions: list[ItemError | Prediction]

    def to_dict(self) -> dict[str, Any]:
        from ..models.prediction import Prediction

        predictions = []
        for predictions_item_data in self.predictions:
            predictions_item: dict[str, Any]
            if isinstance(predictions_item_data, Prediction):
                predictions_item = predictions_item_data.to_dict()
            else:
                predictions_item = predictions_item_data.to_dict()

            predictions.append(predictions_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "predictions": predictions,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.item_error import ItemError
        from ..models.prediction import Prediction

        d = dict(src_dict)
        predictions = []
        _predictions = d.pop("predictions")
        for predictions_item_data in _predictions:

            def _parse_predictions_item(data: object) -> ItemError | Prediction:
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_prediction_or_error_type_0 = Prediction.from_dict(data)

                    return componentsschemas_prediction_or_error_type_0
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_prediction_or_error_type_1 = ItemError.from_dict(data)

                return componentsschemas_prediction_or_error_type_1

            predictions_item = _parse_predictions_item(predictions_item_data)

            predictions.append(predictions_item)

        predict_batch_answer = cls(
            predictions=predictions,
        )

        return predict_batch_answer
