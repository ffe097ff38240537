from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.campaign_budget_type_0 import CampaignBudgetType0


T = TypeVar("T", bound="CampaignResumeRequest")


@_attrs_define
class CampaignResumeRequest:
    """
    Attributes:
        budget (CampaignBudgetType0 | None | Unset): The budget of a campaign. An omitted field, or 0, means no bound.
    """

    budget: CampaignBudgetType0 | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.campaign_budget_type_0 import CampaignBudgetType0

        budget: dict[str, Any] | None | Unset
        if isinstance(self.budget, Unset):
            budget = UNSET
        elif isinstance(self.budget, CampaignBudgetType0):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if budget is not UNSET:
            field_dict["budget"] = budget

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.campaign_budget_type_0 import CampaignBudgetType0

        d = dict(src_dict)

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

        campaign_resume_request = cls(
            budget=budget,
        )

        return campaign_resume_request
