from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.campaign_budget_type_0 import CampaignBudgetType0
    from ..models.campaign_request_conf_type_0 import CampaignRequestConfType0


T = TypeVar("T", bound="CampaignRequest")


@_attrs_define
class CampaignRequest:
    """
    Attributes:
        name (str): Unique for the DAG.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        namespace (None | str | Unset): Distinguishes Airflow deployments or tenants; `default` if omitted.
        pool (None | str | Unset): The Airflow pool of the reproduced tasks.
        conf (CampaignRequestConfType0 | None | Unset): Sandbox settings, which override the conf of each archived run.
        version (None | str | Unset): The version of the DAG that must be deployed.
        budget (CampaignBudgetType0 | None | Unset): The budget of a campaign. An omitted field, or 0, means no bound.
    """

    name: str
    dag_id: str
    namespace: None | str | Unset = UNSET
    pool: None | str | Unset = UNSET
    conf: CampaignRequestConfType0 | None | Unset = UNSET
    version: None | str | Unset = UNSET
    budget: CampaignBudgetType0 | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.campaign_budget_type_0 import CampaignBudgetType0
        from ..models.campaign_request_conf_type_0 import CampaignRequestConfType0

        name = self.name

        dag_id = self.dag_id

        namespace: None | str | Unset
        if isinstance(self.namespace, Unset):
            namespace = UNSET
        else:
            namespace = self.namespace

        pool: None | str | Unset
        if isinstance(self.pool, Unset):
            pool = UNSET
        else:
            pool = self.pool

        conf: dict[str, Any] | None | Unset
        if isinstance(self.conf, Unset):
            conf = UNSET
        elif isinstance(self.conf, CampaignRequestConfType0):
            conf = self.conf.to_dict()
        else:
            conf = self.conf

        version: None | str | Unset
        if isinstance(self.version, Unset):
            version = UNSET
        else:
            version = self.version

        budget: dict[str, Any] | None | Unset
        if isinstance(self.budget, Unset):
            budget = UNSET
        elif isinstance(self.budget, CampaignBudgetType0):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "dag_id": dag_id,
            }
        )
        if namespace is not UNSET:
            field_dict["namespace"] = namespace
        if pool is not UNSET:
            field_dict["pool"] = pool
        if conf is not UNSET:
            field_dict["conf"] = conf
        if version is not UNSET:
            field_dict["version"] = version
        if budget is not UNSET:
            field_dict["budget"] = budget

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_budget_type_0 import CampaignBudgetType0
        from ..models.campaign_request_conf_type_0 import CampaignRequestConfType0

        d = dict(src_dict)
        name = d.pop("name")

        dag_id = d.pop("dag_id")

        def _parse_namespace(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        namespace = _parse_namespace(d.pop("namespace", UNSET))

        def _parse_pool(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        pool = _parse_pool(d.pop("pool", UNSET))

        def _parse_conf(data: object) -> CampaignRequestConfType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                conf_type_0 = CampaignRequestConfType0.from_dict(data)

                return conf_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CampaignRequestConfType0 | None | Unset, data)

        conf = _parse_conf(d.pop("conf", UNSET))

        def _parse_version(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        version = _parse_version(d.pop("version", UNSET))

        def _parse_budget(data: object) -> CampaignBudgetType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_campaign_budget_type_0 = CampaignBudgetType0.from_dict(data)

                return componentsschemas_campaign_budget_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CampaignBudgetType0 | None | Unset, data)

        budget = _parse_budget(d.pop("budget", UNSET))

        campaign_request = cls(
            name=name,
            dag_id=dag_id,
            namespace=namespace,
            pool=pool,
            conf=conf,
            version=version,
            budget=budget,
        )

        return campaign_request
