from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..models.savings_by import SavingsBy
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.baseline import Baseline
    from ..models.savings_row import SavingsRow


T = TypeVar("T", bound="Savings")


@_attrs_define
class Savings:
    """
    Attributes:
        from_ (datetime.date | None): First day of the window; null for all history.
        to (datetime.date | None): Day after the window; null for all history.
        first_day (datetime.date | None): First day with a try.
        last_day (datetime.date | None): Last day with a try.
        by (SavingsBy):
        rows (list[SavingsRow]):
        total (SavingsRow):
        currency (None | str): Currency of the prices.
        price_gb_hour (float | None): Price of a GB·h; null if not set.
        price_core_hour (float | None): Price of a core hour; null if not set.
        baselines (list[Baseline] | Unset): Only in savings by task.
    """

    from_: datetime.date | None
    to: datetime.date | None
    first_day: datetime.date | None
    last_day: datetime.date | None
    by: SavingsBy
    rows: list[SavingsRow]
    total: SavingsRow
    currency: None | str
    price_gb_hour: float | None
    price_core_hour: float | None
    baselines: list[Baseline] | Unset = UNSET

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

        by = self.by.value

        rows = []
        for rows_item_data in self.rows:
            rows_item = rows_item_data.to_dict()
            rows.append(rows_item)

        total = self.total.to_dict()

        currency: None | str
        currency = self.currency

        price_gb_hour: float | None
        price_gb_hour = self.price_gb_hour

        price_core_hour: float | None
        price_core_hour = self.price_core_hour

        baselines: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.baselines, Unset):
            baselines = []
            for baselines_item_data in self.baselines:
                baselines_item = baselines_item_data.to_dict()
                baselines.append(baselines_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "from": from_,
                "to": to,
                "first_day": first_day,
                "last_day": last_day,
                "by": by,
                "rows": rows,
                "total": total,
                "currency": currency,
                "price_gb_hour": price_gb_hour,
                "price_core_hour": price_core_hour,
            }
        )
        if baselines is not UNSET:
            field_dict["baselines"] = baselines

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.baseline import Baseline
        from ..models.savings_row import SavingsRow

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

        by = SavingsBy(d.pop("by"))

        rows = []
        _rows = d.pop("rows")
        for rows_item_data in _rows:
            rows_item = SavingsRow.from_dict(rows_item_data)

            rows.append(rows_item)

        total = SavingsRow.from_dict(d.pop("total"))

        def _parse_currency(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        currency = _parse_currency(d.pop("currency"))

        def _parse_price_gb_hour(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        price_gb_hour = _parse_price_gb_hour(d.pop("price_gb_hour"))

        def _parse_price_core_hour(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        price_core_hour = _parse_price_core_hour(d.pop("price_core_hour"))

        _baselines = d.pop("baselines", UNSET)
        baselines: list[Baseline] | Unset = UNSET
        if _baselines is not UNSET:
            baselines = []
            for baselines_item_data in _baselines:
                baselines_item = Baseline.from_dict(baselines_item_data)

                baselines.append(baselines_item)

        savings = cls(
            from_=from_,
            to=to,
            first_day=first_day,
            last_day=last_day,
            by=by,
            rows=rows,
            total=total,
            currency=currency,
            price_gb_hour=price_gb_hour,
            price_core_hour=price_core_hour,
            baselines=baselines,
        )

        return savings
