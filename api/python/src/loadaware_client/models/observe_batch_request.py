from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.observation import Observation


T = TypeVar("T", bound="ObserveBatchRequest")


@_attrs_define
class ObserveBatchRequest:
    """
    Attributes:
        observations (list[Observation]):
    """

    observations: list[Observation]

    def to_dict(self) -> dict[str, Any]:
        observations = []
        for observations_item_data in self.observations:
            observations_item = observations_item_data.to_dict()
            observations.append(observations_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "observations": observations,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.observation import Observation

        d = dict(src_dict)
        observations = []
        _observations = d.pop("observations")
        for observations_item_data in _observations:
            observations_item = Observation.from_dict(observations_item_data)

            observations.append(observations_item)

        observe_batch_request = cls(
            observations=observations,
        )

        return observe_batch_request
