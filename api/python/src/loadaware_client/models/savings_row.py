from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..types import UNSET, Unset

T = TypeVar("T", bound="SavingsRow")


@_attrs_define
class SavingsRow:
    """
    Attributes:
        tries (int): All reported tries.
        successes (int): Successful tries.
        kills (int): OOM-killed tries.
        unaccounted_tries (int): Successes and kills without a duration, or with neither an allocation nor a request of
            memory; of the amounts of memory they count only in used_gbh.
        unmeasured_tries (int): Successes without a duration or a peak; they do not count in used_gbh.
        success_hours (float | None): Duration of the accounted successes in hours.
        requested_gbh (float | None): GB·h of the accounted successes with the static request of their task.
        granted_gbh (float | None): GB·h of the allocations of successful tries.
        used_gbh (float | None): GB·h of the peaks of successful tries.
        used_hours (float | None): Duration of the tries in used_gbh in hours.
        killed_gbh (float | None): GB·h of the whole allocations of OOM-killed attempts.
        wasted_gbh (float | None): Unused GB·h of grants, plus killed_gbh. A try whose peak is above its allocation has
            no unused memory.
        saved_gbh (float | None): GB·h saved, by the formula of `GET /savings`; may be negative.
        no_request_gbh (float): GB·h granted to, or killed in, tasks whose static request is unknown; they count in no
            saving.
        saved_core_h (float | None): Core hours saved, of tries whose CPU request and allocation are known.
        saved_money (float | None): saved_gbh and saved_core_h times their prices; null without a price.
        day (datetime.date | None | Unset): UTC day; only in rows by day.
        namespace (None | str | Unset): Only in rows by DAG or task.
        dag_id (None | str | Unset): Only in rows by DAG or task.
        task_id (None | str | Unset): Only in rows by task.
        owner (None | str | Unset): Only in rows by owner; absent if the owner is unknown.
    """

    tries: int
    successes: int
    kills: int
    unaccounted_tries: int
    unmeasured_tries: int
    success_hours: float | None
    requested_gbh: float | None
    granted_gbh: float | None
    used_gbh: float | None
    used_hours: float | None
    killed_gbh: float | None
    wasted_gbh: float | None
    saved_gbh: float | None
    no_request_gbh: float
    saved_core_h: float | None
    saved_money: float | None
    day: datetime.date | None | Unset = UNSET
    namespace: None | str | Unset = UNSET
    dag_id: None | str | Unset = UNSET
    task_id: None | str | Unset = UNSET
    owner: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        tries = self.tries

        successes = self.successes

        kills = self.kills

        unaccounted_tries = self.unaccounted_tries

        unmeasured_tries = self.unmeasured_tries

        success_hours: float | None
        success_hours = self.success_hours

        requested_gbh: float | None
        requested_gbh = self.requested_gbh

        granted_gbh: float | None
        granted_gbh = self.granted_gbh

        used_gbh: float | None
        used_gbh = self.used_gbh

        used_hours: float | None
        used_hours = self.used_hours

        killed_gbh: float | None
        killed_gbh = self.killed_gbh

        wasted_gbh: float | None
        wasted_gbh = self.wasted_gbh

        saved_gbh: float | None
        saved_gbh = self.saved_gbh

        no_request_gbh = self.no_request_gbh

        saved_core_h: float | None
        saved_core_h = self.saved_core_h

        saved_money: float | None
        saved_money = self.saved_money

        day: None | str | Unset
        if isinstance(self.day, Unset):
            day = UNSET
        elif isinstance(self.day, datetime.date):
            day = self.day.isoformat()
        else:
            day = self.day

        namespace: None | str | Unset
        if isinstance(self.namespace, Unset):
            namespace = UNSET
        else:
            namespace = self.namespace

        dag_id: None | str | Unset
        if isinstance(self.dag_id, Unset):
            dag_id = UNSET
        else:
            dag_id = self.dag_id

        task_id: None | str | Unset
        if isinstance(self.task_id, Unset):
            task_id = UNSET
        else:
            task_id = self.task_id

        owner: None | str | Unset
        if isinstance(self.owner, Unset):
            owner = UNSET
        else:
            owner = self.owner

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "tries": tries,
                "successes": successes,
                "kills": kills,
                "unaccounted_tries": unaccounted_tries,
                "unmeasured_tries": unmeasured_tries,
                "success_hours": success_hours,
                "requested_gbh": requested_gbh,
                "granted_gbh": granted_gbh,
                "used_gbh": used_gbh,
                "used_hours": used_hours,
                "killed_gbh": killed_gbh,
                "wasted_gbh": wasted_gbh,
                "saved_gbh": saved_gbh,
                "no_request_gbh": no_request_gbh,
                "saved_core_h": saved_core_h,
                "saved_money": saved_money,
            }
        )
        if day is not UNSET:
            field_dict["day"] = day
        if namespace is not UNSET:
            field_dict["namespace"] = namespace
        if dag_id is not UNSET:
            field_dict["dag_id"] = dag_id
        if task_id is not UNSET:
            field_dict["task_id"] = task_id
        if owner is not UNSET:
            field_dict["owner"] = owner

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        tries = d.pop("tries")

        successes = d.pop("successes")

        kills = d.pop("kills")

        unaccounted_tries = d.pop("unaccounted_tries")

        unmeasured_tries = d.pop("unmeasured_tries")

        def _parse_success_hours(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        success_hours = _parse_success_hours(d.pop("success_hours"))

        def _parse_requested_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        requested_gbh = _parse_requested_gbh(d.pop("requested_gbh"))

        def _parse_granted_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        granted_gbh = _parse_granted_gbh(d.pop("granted_gbh"))

        def _parse_used_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        used_gbh = _parse_used_gbh(d.pop("used_gbh"))

        def _parse_used_hours(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        used_hours = _parse_used_hours(d.pop("used_hours"))

        def _parse_killed_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        killed_gbh = _parse_killed_gbh(d.pop("killed_gbh"))

        def _parse_wasted_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        wasted_gbh = _parse_wasted_gbh(d.pop("wasted_gbh"))

        def _parse_saved_gbh(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        saved_gbh = _parse_saved_gbh(d.pop("saved_gbh"))

        no_request_gbh = d.pop("no_request_gbh")

        def _parse_saved_core_h(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        saved_core_h = _parse_saved_core_h(d.pop("saved_core_h"))

        def _parse_saved_money(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        saved_money = _parse_saved_money(d.pop("saved_money"))

        def _parse_day(data: object) -> datetime.date | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                day_type_0 = isoparse(data).date()

                return day_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.date | None | Unset, data)

        day = _parse_day(d.pop("day", UNSET))

        def _parse_namespace(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        namespace = _parse_namespace(d.pop("namespace", UNSET))

        def _parse_dag_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        dag_id = _parse_dag_id(d.pop("dag_id", UNSET))

        def _parse_task_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        task_id = _parse_task_id(d.pop("task_id", UNSET))

        def _parse_owner(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        owner = _parse_owner(d.pop("owner", UNSET))

        savings_row = cls(
            tries=tries,
            successes=successes,
            kills=kills,
            unaccounted_tries=unaccounted_tries,
            unmeasured_tries=unmeasured_tries,
            success_hours=success_hours,
            requested_gbh=requested_gbh,
            granted_gbh=granted_gbh,
            used_gbh=used_gbh,
            used_hours=used_hours,
            killed_gbh=killed_gbh,
            wasted_gbh=wasted_gbh,
            saved_gbh=saved_gbh,
            no_request_gbh=no_request_gbh,
            saved_core_h=saved_core_h,
            saved_money=saved_money,
            day=day,
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            owner=owner,
        )

        return savings_row
