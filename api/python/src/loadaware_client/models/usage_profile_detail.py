from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.usage_profile import UsageProfile
    from ..models.usage_profile_member import UsageProfileMember


T = TypeVar("T", bound="UsageProfileDetail")


@_attrs_define
class UsageProfileDetail:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        version (int):
        learned_at (datetime.datetime):
        profile (UsageProfile):
        members (list[UsageProfileMember]): Tasks with runs in the profile, those with the most runs first.
    """

    namespace: str
    version: int
    learned_at: datetime.datetime
    profile: UsageProfile
    members: list[UsageProfileMember]

    def to_dict(self) -> dict[str, Any]:
        namespace = self.namespace

        version = self.version

        learned_at = self.learned_at.isoformat()

        profile = self.profile.to_dict()

        members = []
        for members_item_data in self.members:
            members_item = members_item_data.to_dict()
            members.append(members_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "version": version,
                "learned_at": learned_at,
                "profile": profile,
                "members": members,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.usage_profile import UsageProfile
        from ..models.usage_profile_member import UsageProfileMember

        d = dict(src_dict)
        namespace = d.pop("namespace")

        version = d.pop("version")

        learned_at = isoparse(d.pop("learned_at"))

        profile = UsageProfile.from_dict(d.pop("profile"))

        members = []
        _members = d.pop("members")
        for members_item_data in _members:
            members_item = UsageProfileMember.from_dict(members_item_data)

            members.append(members_item)

        usage_profile_detail = cls(
            namespace=namespace,
            version=version,
            learned_at=learned_at,
            profile=profile,
            members=members,
        )

        return usage_profile_detail
