from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="MetadataType0")


@_attrs_define
class MetadataType0:
    """Static facts about the task, by name, for example its operator, image, owner, pool and tags. The server compares a
    task
    without history with other tasks by these facts. A value is a string or a list of strings. At most 30 names of 60
    characters, values of 200 characters, lists of 30 values, and 8,192 bytes in all; the server ignores entries beyond
    these
    limits with a warning. Do not send secrets.

        Example:
            {'operator': 'KubernetesPodOperator', 'image': 'registry/forecast:2.4', 'owner': 'pricing', 'tags': ['nightly',
                'emea']}

    """

    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        metadata_type_0 = cls()

        metadata_type_0.additional_properties = d
        return metadata_type_0

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
