from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.usage_profile import UsageProfile
    from ..models.usage_profile_metadata import UsageProfileMetadata


T = TypeVar("T", bound="UsageProfileSet")


@_attrs_define
class UsageProfileSet:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        version (int):
        learned_at (datetime.datetime):
        runs (int): Number of runs from which the profiles were found: of each task those with a known peak or an OOM
            kill among its newest 50 successes and OOM kills, at most 10,000 in all.
        tasks (int): Tasks with one of these runs.
        quantities (list[str]): What runs are compared by, such as `memory_peak_bytes`: quantities that most runs
            report.
        min_runs (int): Smallest number of runs of a profile; 0 if the runs show no structure, so that there is one
            profile.
        coverage (float): Share of the runs with a profile.
        silhouette (float): How far apart the profiles are; above 0.5 is distinct. 0 for one profile.
        davies_bouldin (float): Davies–Bouldin index: the spread within profiles divided by the distance between them; 0
            is best.
        hopkins (float): Hopkins statistic: 0.5 means that the runs have no clusters, 1 that they have clear ones.
        profiles (list[UsageProfile]):
        outliers (UsageProfile):
        metadata (UsageProfileMetadata | Unset): How well facts that are known before the first run predict the profile
            of a task. This shows which fields are worth sending. Each task is
            predicted from the others by naive Bayes; the outlier group is a profile, too. Absent with fewer than 20 tasks.
    """

    namespace: str
    version: int
    learned_at: datetime.datetime
    runs: int
    tasks: int
    quantities: list[str]
    min_runs: int
    coverage: float
    silhouette: float
    davies_bouldin: float
    hopkins: float
    profiles: list[UsageProfile]
    outliers: UsageProfile
    metadata: UsageProfileMetadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        namespace = self.namespace

        version = self.version

        learned_at = self.learned_at.isoformat()

        runs = self.runs

        tasks = self.tasks

        quantities = self.quantities

        min_runs = self.min_runs

        coverage = self.coverage

        silhouette = self.silhouette

        davies_bouldin = self.davies_bouldin

        hopkins = self.hopkins

        profiles = []
        for profiles_item_data in self.profiles:
            profiles_item = profiles_item_data.to_dict()
            profiles.append(profiles_item)

        outliers = self.outliers.to_dict()

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "version": version,
                "learned_at": learned_at,
                "runs": runs,
                "tasks": tasks,
                "quantities": quantities,
                "min_runs": min_runs,
                "coverage": coverage,
                "silhouette": silhouette,
                "davies_bouldin": davies_bouldin,
                "hopkins": hopkins,
                "profiles": profiles,
                "outliers": outliers,
            }
        )
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.usage_profile import UsageProfile
        from ..models.usage_profile_metadata import UsageProfileMetadata

        d = dict(src_dict)
        namespace = d.pop("namespace")

        version = d.pop("version")

        learned_at = isoparse(d.pop("learned_at"))

        runs = d.pop("runs")

        tasks = d.pop("tasks")

        quantities = cast(list[str], d.pop("quantities"))

        min_runs = d.pop("min_runs")

        coverage = d.pop("coverage")

        silhouette = d.pop("silhouette")

        davies_bouldin = d.pop("davies_bouldin")

        hopkins = d.pop("hopkins")

        profiles = []
        _profiles = d.pop("profiles")
        for profiles_item_data in _profiles:
            profiles_item = UsageProfile.from_dict(profiles_item_data)

            profiles.append(profiles_item)

        outliers = UsageProfile.from_dict(d.pop("outliers"))

        _metadata = d.pop("metadata", UNSET)
        metadata: UsageProfileMetadata | Unset
        if isinstance(_metadata, Unset):
            metadata = UNSET
        else:
            metadata = UsageProfileMetadata.from_dict(_metadata)

        usage_profile_set = cls(
            namespace=namespace,
            version=version,
            learned_at=learned_at,
            runs=runs,
            tasks=tasks,
            quantities=quantities,
            min_runs=min_runs,
            coverage=coverage,
            silhouette=silhouette,
            davies_bouldin=davies_bouldin,
            hopkins=hopkins,
            profiles=profiles,
            outliers=outliers,
            metadata=metadata,
        )

        return usage_profile_set
