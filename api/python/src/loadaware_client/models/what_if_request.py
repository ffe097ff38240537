from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.features_type_0 import FeaturesType0
    from ..models.what_if_settings import WhatIfSettings


T = TypeVar("T", bound="WhatIfRequest")


@_attrs_define
class WhatIfRequest:
    """
    Attributes:
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        namespace (None | str | Unset): Distinguishes Airflow deployments or tenants; `default` if omitted.
        task_id (None | str | Unset): If omitted: the tasks of the DAG, at most the first 200 in the order of their
            names.
        settings (list[WhatIfSettings] | None | Unset): Settings to replay, besides those in force.
        set_ (FeaturesType0 | None | Unset): Inputs that are known before the launch, by name (1 to 100 characters, at
            most 200 names). A value is a number, a
            boolean, a category (a string of at most 500 characters) or a date (a string that begins with the year, such as
            `2020-01-03`, `2020/01/03`, `2020-01-03 02:15` or RFC 3339, or one like `25.03.2020`). Hours and days of a time
            with an offset are those of its local time; a time without an offset is UTC. Null means missing. A string that
            is a decimal number (`1253`, `1_000_000`) or an amount of bytes or time (`37.5GB`, `16Gi`, `90 min`) counts
            as a number, also with white space around it; one with leading zeros (`007`) is a category; so is one without a
            point that has more than 15 digits, or an exponent above 15 without a sign (`7e943102`). So is an integer from
            2^53 on (9007199254740992) that is sent as a number, because it may be an id. `True` and `false` in a string are
            booleans. `20250103` in a string or as a number is a date, unless most values of its feature are other numbers.
            Arrays and
            objects are invalid. A value whose kind differs from most values of its feature counts as
            missing; a boolean counts as 0 or 1 if the others are numbers. Strings that recur among numbers or booleans,
            such as
            `ALL`, are an additional category.
             Example: {'product_count': 1253, 'region': 'emea', 'sale_end': '2020-02-05'}.
    """

    dag_id: str
    namespace: None | str | Unset = UNSET
    task_id: None | str | Unset = UNSET
    settings: list[WhatIfSettings] | None | Unset = UNSET
    set_: FeaturesType0 | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.features_type_0 import FeaturesType0

        dag_id = self.dag_id

        namespace: None | str | Unset
        if isinstance(self.namespace, Unset):
            namespace = UNSET
        else:
            namespace = self.namespace

        task_id: None | str | Unset
        if isinstance(self.task_id, Unset):
            task_id = UNSET
        else:
            task_id = self.task_id

        settings: list[dict[str, Any]] | None | Unset
        if isinstance(self.settings, Unset):
            settings = UNSET
        elif isinstance(self.settings, list):
            settings = []
            for settings_type_0_item_data in self.settings:
                settings_type_0_item = settings_type_0_item_data.to_dict()
                settings.append(settings_type_0_item)

        else:
            settings = self.settings

        set_: dict[str, Any] | None | Unset
        if isinstance(self.set_, Unset):
            set_ = UNSET
        elif isinstance(self.set_, FeaturesType0):
            set_ = self.set_.to_dict()
        else:
            set_ = self.set_

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "dag_id": dag_id,
            }
        )
        if namespace is not UNSET:
            field_dict["namespace"] = namespace
        if task_id is not UNSET:
            field_dict["task_id"] = task_id
        if settings is not UNSET:
            field_dict["settings"] = settings
        if set_ is not UNSET:
            field_dict["set"] = set_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.features_type_0 import FeaturesType0
        from ..models.what_if_settings import WhatIfSettings

        d = dict(src_dict)
        dag_id = d.pop("dag_id")

        def _parse_namespace(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        namespace = _parse_namespace(d.pop("namespace", UNSET))

        def _parse_task_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        task_id = _parse_task_id(d.pop("task_id", UNSET))

        def _parse_settings(data: object) -> list[WhatIfSettings] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                settings_type_0 = []
                _settings_type_0 = data
                for settings_type_0_item_data in _settings_type_0:
                    settings_type_0_item = WhatIfSettings.from_dict(settings_type_0_item_data)

                    settings_type_0.append(settings_type_0_item)

                return settings_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[WhatIfSettings] | None | Unset, data)

        settings = _parse_settings(d.pop("settings", UNSET))

        def _parse_set_(data: object) -> FeaturesType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_features_type_0 = FeaturesType0.from_dict(data)

                return componentsschemas_features_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FeaturesType0 | None | Unset, data)

        set_ = _parse_set_(d.pop("set", UNSET))

        what_if_request = cls(
            dag_id=dag_id,
            namespace=namespace,
            task_id=task_id,
            settings=settings,
            set_=set_,
        )

        return what_if_request
