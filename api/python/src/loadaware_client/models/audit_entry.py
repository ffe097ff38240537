from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

if TYPE_CHECKING:
    from ..models.audit_entry_after_type_0 import AuditEntryAfterType0
    from ..models.audit_entry_before_type_0 import AuditEntryBeforeType0


T = TypeVar("T", bound="AuditEntry")


@_attrs_define
class AuditEntry:
    """
    Attributes:
        id (int):
        at (datetime.datetime):
        who (str): The name of a token, or `token` and the first eight digits of its hash; `user` and the name of a user
            of a trusted proxy; `local` (a client of a server without tokens), `trainer`, `watchdog`, or `anonymous`
            (unknown).
        action (str): `policy changed`, `model activated` (a training published the model, or a person activated a
            version that is not older than the active one), `model rolled back` (the watchdog or a person activated an older
            version), `model withdrawn`, `model unpinned`, `task deleted`, `task renamed`, `campaign created`, `campaign
            paused`, `campaign resumed`, `campaign stopped`, `campaign runs registered` or `campaign run reset`. Entries of
            a campaign have an empty task_id.
        namespace (str):
        dag_id (str):
        task_id (str):
        before (AuditEntryBeforeType0 | None): The state before the change: the policy in the form of `GET …/policy`;
            for a model the version and the author of the pin; for a renamed task its old name; for a campaign its id, with
            the state of the run or with the budget. Null if there was no earlier state or if none is recorded, as for a
            deleted task.
        after (AuditEntryAfterType0 | None): The state after the change.
        reason (None | str):
    """

    id: int
    at: datetime.datetime
    who: str
    action: str
    namespace: str
    dag_id: str
    task_id: str
    before: AuditEntryBeforeType0 | None
    after: AuditEntryAfterType0 | None
    reason: None | str

    def to_dict(self) -> dict[str, Any]:
        from ..models.audit_entry_after_type_0 import AuditEntryAfterType0
        from ..models.audit_entry_before_type_0 import AuditEntryBeforeType0

        id = self.id

        at = self.at.isoformat()

        who = self.who

        action = self.action

        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        before: dict[str, Any] | None
        if isinstance(self.before, AuditEntryBeforeType0):
            before = self.before.to_dict()
        else:
            before = self.before

        after: dict[str, Any] | None
        if isinstance(self.after, AuditEntryAfterType0):
            after = self.after.to_dict()
        else:
            after = self.after

        reason: None | str
        reason = self.reason

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "at": at,
                "who": who,
                "action": action,
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "before": before,
                "after": after,
                "reason": reason,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.audit_entry_after_type_0 import AuditEntryAfterType0
        from ..models.audit_entry_before_type_0 import AuditEntryBeforeType0

        d = dict(src_dict)
        id = d.pop("id")

        at = isoparse(d.pop("at"))

        who = d.pop("who")

        action = d.pop("action")

        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        def _parse_before(data: object) -> AuditEntryBeforeType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                before_type_0 = AuditEntryBeforeType0.from_dict(data)

                return before_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AuditEntryBeforeType0 | None, data)

        before = _parse_before(d.pop("before"))

        def _parse_after(data: object) -> AuditEntryAfterType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                after_type_0 = AuditEntryAfterType0.from_dict(data)

                return after_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AuditEntryAfterType0 | None, data)

        after = _parse_after(d.pop("after"))

        def _parse_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        reason = _parse_reason(d.pop("reason"))

        audit_entry = cls(
            id=id,
            at=at,
            who=who,
            action=action,
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            before=before,
            after=after,
            reason=reason,
        )

        return audit_entry
