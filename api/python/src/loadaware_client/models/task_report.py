from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.group import Group
from ..models.task_report_severity import TaskReportSeverity
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.static_advice import StaticAdvice


T = TypeVar("T", bound="TaskReport")


@_attrs_define
class TaskReport:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        group (Group): Usage of the task compared with the other tasks of its namespace, by clusters of mean peak, GB·h
            and standard deviation of the peaks. In a namespace with fewer than 6 tasks with a known peak, or without three
            distinct clusters: by fixed thresholds of the peaks.
        severity (TaskReportSeverity): `critical`: the share of kills among successes and kills is clearly above the
            risk target (if it were the target, this number of kills or more would have a probability below 2.5 %), or
            `saved_gbh` is negative. `warning`: successes used less than half of their grants, in a task with at least 1 %
            of all waste. `unknown`: the mean grant or the mean usage is unknown.
        tries (int): Reported tries.
        kills (int): OOM-killed tries.
        requested_bytes (int | None): The first static request of the task.
        granted_bytes (int | None): Mean grant over time.
        used_bytes (int | None): Mean peak over time.
        requested_gbh (float | None): As in GET /savings.
        granted_gbh (float | None): As in GET /savings.
        used_gbh (float | None): As in GET /savings.
        killed_gbh (float | None): As in GET /savings.
        wasted_gbh (float | None): As in GET /savings.
        saved_gbh (float | None): As in GET /savings.
        saved_money (float | None): As in GET /savings.
        killed_percent (float | None): Kills as a percentage of successes and kills.
        risk (float | None): Mean promised risk of the reported first tries among the newest 500 receipts of the task.
        risk_target (float): Accepted probability of a kill.
        source (None | str): Probable source of the next answer; null if unknown.
        why_not (None | str | Unset): What prevents a better size; absent if nothing does.
        static (StaticAdvice | Unset):
    """

    namespace: str
    dag_id: str
    task_id: str
    group: Group
    severity: TaskReportSeverity
    tries: int
    kills: int
    requested_bytes: int | None
    granted_bytes: int | None
    used_bytes: int | None
    requested_gbh: float | None
    granted_gbh: float | None
    used_gbh: float | None
    killed_gbh: float | None
    wasted_gbh: float | None
    saved_gbh: float | None
    saved_money: float | None
    killed_percent: float | None
    risk: float | None
    risk_target: float
    source: None | str
    why_not: None | str | Unset = UNSET
    static: StaticAdvice | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        group = self.group.value

        severity = self.severity.value

        tries = self.tries

        kills = self.kills

        requested_bytes: int | None
        requested_bytes = self.requested_bytes

        granted_bytes: int | None
        granted_bytes = self.granted_bytes

        used_bytes: int | None
        used_bytes = self.used_bytes

        requested_gbh: float | None
        requested_gbh = self.requested_gbh

        granted_gbh: float | None
        granted_gbh = self.granted_gbh

        used_gbh: float | None
        used_gbh = self.used_gbh

        killed_gbh: float | None
        killed_gbh = self.killed_gbh

        wasted_gbh: float | None
        wasted_gbh = self.wasted_gbh

        saved_gbh: float | None
        saved_gbh = self.saved_gbh

        saved_money: float | None
        saved_money = self.saved_money

        killed_percent: float | None
        killed_percent = self.killed_percent

        risk: float | None
        risk = self.risk

        risk_target = self.risk_target

        source: None | str
        source = self.source

        why_not: None | str | Unset
        if isinstance(self.why_not, Unset):
            why_not = UNSET
        else:
            why_not = self.why_not

        static: dict[str, Any] | Unset = UNSET
        if not isinstance(self.static, Unset):
            static = self.static.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "group": group,
                "severity": severity,
                "tries": tries,
                "kills": kills,
                "requested_bytes": requested_bytes,
                "granted_bytes": granted_bytes,
                "used_bytes": used_bytes,
                "requested_gbh": requested_gbh,
                "granted_gbh": granted_gbh,
                "used_gbh": used_gbh,
                "killed_gbh": killed_gbh,
                "wasted_gbh": wasted_gbh,
                "saved_gbh": saved_gbh,
                "saved_money": saved_money,
                "killed_percent": killed_percent,
                "risk": risk,
                "risk_target": risk_target,
                "source": source,
            }
        )
        if why_not is not UNSET:
            field_dict["why_not"] = why_not
        if static is not UNSET:
            field_dict["static"] = static

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.static_advice import StaticAdvice

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        group = Group(d.pop("group"))

        severity = TaskReportSeverity(d.pop("severity"))

        tries = d.pop("tries")

        kills = d.pop("kills")

        def _parse_requested_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        requested_bytes = _parse_requested_bytes(d.pop("requested_bytes"))

        def _parse_granted_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        granted_bytes = _parse_granted_bytes(d.pop("granted_bytes"))

        def _parse_used_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        used_bytes = _parse_used_bytes(d.pop("used_bytes"))

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

        def _parse_saved_money(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        saved_money = _parse_saved_money(d.pop("saved_money"))

        def _parse_killed_percent(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        killed_percent = _parse_killed_percent(d.pop("killed_percent"))

        def _parse_risk(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        risk = _parse_risk(d.pop("risk"))

        risk_target = d.pop("risk_target")

        def _parse_source(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        source = _parse_source(d.pop("source"))

        def _parse_why_not(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        why_not = _parse_why_not(d.pop("why_not", UNSET))

        _static = d.pop("static", UNSET)
        static: StaticAdvice | Unset
        if isinstance(_static, Unset):
            static = UNSET
        else:
            static = StaticAdvice.from_dict(_static)

        task_report = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            group=group,
            severity=severity,
            tries=tries,
            kills=kills,
            requested_bytes=requested_bytes,
            granted_bytes=granted_bytes,
            used_bytes=used_bytes,
            requested_gbh=requested_gbh,
            granted_gbh=granted_gbh,
            used_gbh=used_gbh,
            killed_gbh=killed_gbh,
            wasted_gbh=wasted_gbh,
            saved_gbh=saved_gbh,
            saved_money=saved_money,
            killed_percent=killed_percent,
            risk=risk,
            risk_target=risk_target,
            source=source,
            why_not=why_not,
            static=static,
        )

        return task_report
