from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.savings_row import SavingsRow
    from ..models.static_group import StaticGroup
    from ..models.task_report import TaskReport


T = TypeVar("T", bound="Report")


@_attrs_define
class Report:
    """
    Attributes:
        from_ (datetime.date | None): First day of the window; null for all history.
        to (datetime.date | None): Day after the window; null for all history.
        first_day (datetime.date | None): First day with a try.
        last_day (datetime.date | None): Last day with a try.
        tasks (list[TaskReport]): Sorted by wasted_gbh, the largest first.
        total (SavingsRow):
        currency (None | str): Currency of the prices.
        groups (list[StaticGroup] | Unset): Only in a report with `static`.
    """

    from_: datetime.date | None
    to: datetime.date | None
    first_day: datetime.date | None
    last_day: datetime.date | None
    tasks: list[TaskReport]
    total: SavingsRow
    currency: None | str
    groups: list[StaticGroup] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from_: None | str
        if isinstance(self.from_, datetime.date):
            from_ = self.from_.isoformat()
        else:
            from_ = self.from_

        to: None | str
        if isinstance(self.to, datetime.date):
            to = self.to.isoformat()
        else:
            to = self.to

        first_day: None | str
        if isinstance(self.first_day, datetime.date):
            first_day = self.first_day.isoformat()
        else:
            first_day = self.first_day

        last_day: None | str
        if isinstance(self.last_day, datetime.date):
            last_day = self.last_day.isoformat()
        else:
            last_day = self.last_day

        tasks = []
        for tasks_item_data in self.tasks:
            tasks_item = tasks_item_data.to_dict()
            tasks.append(tasks_item)

        total = self.total.to_dict()

        currency: None | str
        currency = self.currency

        groups: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.groups, Unset):
            groups = []
            for groups_item_data in self.groups:
                groups_item = groups_item_data.to_dict()
                groups.append(groups_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "from": from_,
                "to": to,
                "first_day": first_day,
                "last_day": last_day,
                "tasks": tasks,
                "total": total,
                "currency": currency,
            }
        )
        if groups is not UNSET:
            field_dict["groups"] = groups

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.savings_row import SavingsRow
        from ..models.static_group import StaticGroup
        from ..models.task_report import TaskReport

        d = dict(src_dict)

        def _parse_from_(data: object) -> datetime.date | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                from_type_0 = isoparse(data).date()

                return from_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.date | None, data)

        from_ = _parse_from_(d.pop("from"))

        def _parse_to(data: object) -> datetime.date | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                to_type_0 = isoparse(data).date()

                return to_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.date | None, data)

        to = _parse_to(d.pop("to"))

        def _parse_first_day(data: object) -> datetime.date | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                first_day_type_0 = isoparse(data).date()

                return first_day_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.date | None, data)

        first_day = _parse_first_day(d.pop("first_day"))

        def _parse_last_day(data: object) -> datetime.date | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_day_type_0 = isoparse(data).date()

                return last_day_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.date | None, data)

        last_day = _parse_last_day(d.pop("last_day"))

        tasks = []
        _tasks = d.pop("tasks")
        for tasks_item_data in _tasks:
            tasks_item = TaskReport.from_dict(tasks_item_data)

            tasks.append(tasks_item)

        total = SavingsRow.from_dict(d.pop("total"))

        def _parse_currency(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        currency = _parse_currency(d.pop("currency"))

        _groups = d.pop("groups", UNSET)
        groups: list[StaticGroup] | Unset = UNSET
        if _groups is not UNSET:
            groups = []
            for groups_item_data in _groups:
                groups_item = StaticGroup.from_dict(groups_item_data)

                groups.append(groups_item)

        report = cls(
            from_=from_,
            to=to,
            first_day=first_day,
            last_day=last_day,
            tasks=tasks,
            total=total,
            currency=currency,
            groups=groups,
        )

        return report
