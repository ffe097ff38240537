from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..models.group import Group
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.feature_field import FeatureField
    from ..models.model_type_0 import ModelType0
    from ..models.policy import Policy
    from ..models.quantiles_type_0 import QuantilesType0
    from ..models.quarantined import Quarantined
    from ..models.resources_type_0 import ResourcesType0
    from ..models.risk_record import RiskRecord
    from ..models.task_profile_exam_type_0 import TaskProfileExamType0
    from ..models.task_usage_profile import TaskUsageProfile
    from ..models.usage_anomaly import UsageAnomaly


T = TypeVar("T", bound="TaskProfile")


@_attrs_define
class TaskProfile:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        observations (int): Number of reported tries.
        kills (int): Number of OOM-killed tries.
        last_seen (datetime.datetime | None):
        group (Group): Usage of the task compared with the other tasks of its namespace, by clusters of mean peak, GB·h
            and standard deviation of the peaks. In a namespace with fewer than 6 tasks with a known peak, or without three
            distinct clusters: by fixed thresholds of the peaks.
        largest_peak_bytes (int | None):
        largest_peak (None | str):
        champion (ModelType0 | None):
        memory_bytes (None | QuantilesType0):
        duration_seconds (None | QuantilesType0):
        requested (None | ResourcesType0): Memory and CPU, each as a number or as a quantity. Example: {'memory':
            '350Gi', 'cpu': '6'}.
        features (list[FeatureField]):
        ambiguous (bool): Runs with equal features differ so much that the features cannot explain the difference.
        ambiguity (None | str): Explanation of the ambiguity.
        policy (Policy): The settings of a task in force, including defaults. The schema PolicyRequest describes them.
        exam (None | TaskProfileExamType0): Evaluation that selected the champion; free form.
        risk (RiskRecord): Promised and realised risk of first tries.
        bins_bytes (list[int] | None): Optimised upper edges of the bins of the task; null before the first training.
        quarantined (list[Quarantined] | Unset): Reports that change no predicted peak unless another report confirms
            them; absent if there are none.
        profile (TaskUsageProfile | Unset): The most frequent usage profile among the runs of the task; absent before
            the namespace has profiles.
        anomaly (UsageAnomaly | Unset): How unusual the newest runs of the task are, compared with the runs of the
            namespace; absent before the namespace has profiles.
    """

    namespace: str
    dag_id: str
    task_id: str
    observations: int
    kills: int
    last_seen: datetime.datetime | None
    group: Group
    largest_peak_bytes: int | None
    largest_peak: None | str
    champion: ModelType0 | None
    memory_bytes: None | QuantilesType0
    duration_seconds: None | QuantilesType0
    requested: None | ResourcesType0
    features: list[FeatureField]
    ambiguous: bool
    ambiguity: None | str
    policy: Policy
    exam: None | TaskProfileExamType0
    risk: RiskRecord
    bins_bytes: list[int] | None
    quarantined: list[Quarantined] | Unset = UNSET
    profile: TaskUsageProfile | Unset = UNSET
    anomaly: UsageAnomaly | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.model_type_0 import ModelType0
        from ..models.quantiles_type_0 import QuantilesType0
        from ..models.resources_type_0 import ResourcesType0
        from ..models.task_profile_exam_type_0 import TaskProfileExamType0

        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        observations = self.observations

        kills = self.kills

        last_seen: None | str
        if isinstance(self.last_seen, datetime.datetime):
            last_seen = self.last_seen.isoformat()
        else:
            last_seen = self.last_seen

        group = self.group.value

        largest_peak_bytes: int | None
        largest_peak_bytes = self.largest_peak_bytes

        largest_peak: None | str
        largest_peak = self.largest_peak

        champion: dict[str, Any] | None
        if isinstance(self.champion, ModelType0):
            champion = self.champion.to_dict()
        else:
            champion = self.champion

        memory_bytes: dict[str, Any] | None
        if isinstance(self.memory_bytes, QuantilesType0):
            memory_bytes = self.memory_bytes.to_dict()
        else:
            memory_bytes = self.memory_bytes

        duration_seconds: dict[str, Any] | None
        if isinstance(self.duration_seconds, QuantilesType0):
            duration_seconds = self.duration_seconds.to_dict()
        else:
            duration_seconds = self.duration_seconds

        requested: dict[str, Any] | None
        if isinstance(self.requested, ResourcesType0):
            requested = self.requested.to_dict()
        else:
            requested = self.requested

        features = []
        for features_item_data in self.features:
            features_item = features_item_data.to_dict()
            features.append(features_item)

        ambiguous = self.ambiguous

        ambiguity: None | str
        ambiguity = self.ambiguity

        policy = self.policy.to_dict()

        exam: dict[str, Any] | None
        if isinstance(self.exam, TaskProfileExamType0):
            exam = self.exam.to_dict()
        else:
            exam = self.exam

        risk = self.risk.to_dict()

        bins_bytes: list[int] | None
        if isinstance(self.bins_bytes, list):
            bins_bytes = self.bins_bytes

        else:
            bins_bytes = self.bins_bytes

        quarantined: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.quarantined, Unset):
            quarantined = []
            for quarantined_item_data in self.quarantined:
                quarantined_item = quarantined_item_data.to_dict()
                quarantined.append(quarantined_item)

        profile: dict[str, Any] | Unset = UNSET
        if not isinstance(self.profile, Unset):
            profile = self.profile.to_dict()

        anomaly: dict[str, Any] | Unset = UNSET
        if not isinstance(self.anomaly, Unset):
            anomaly = self.anomaly.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "observations": observations,
                "kills": kills,
                "last_seen": last_seen,
                "group": group,
                "largest_peak_bytes": largest_peak_bytes,
                "largest_peak": largest_peak,
                "champion": champion,
                "memory_bytes": memory_bytes,
                "duration_seconds": duration_seconds,
                "requested": requested,
                "features": features,
                "ambiguous": ambiguous,
                "ambiguity": ambiguity,
                "policy": policy,
                "exam": exam,
                "risk": risk,
                "bins_bytes": bins_bytes,
            }
        )
        if quarantined is not UNSET:
            field_dict["quarantined"] = quarantined
        if profile is not UNSET:
            field_dict["profile"] = profile
        if anomaly is not UNSET:
            field_dict["anomaly"] = anomaly

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.feature_field import FeatureField
        from ..models.model_type_0 import ModelType0
        from ..models.policy import Policy
        from ..models.quantiles_type_0 import QuantilesType0
        from ..models.quarantined import Quarantined
        from ..models.resources_type_0 import ResourcesType0
        from ..models.risk_record import RiskRecord
        from ..models.task_profile_exam_type_0 import TaskProfileExamType0
        from ..models.task_usage_profile import TaskUsageProfile
        from ..models.usage_anomaly import UsageAnomaly

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        observations = d.pop("observations")

        kills = d.pop("kills")

        def _parse_last_seen(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_seen_type_0 = isoparse(data)

                return last_seen_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_seen = _parse_last_seen(d.pop("last_seen"))

        group = Group(d.pop("group"))

        def _parse_largest_peak_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        largest_peak_bytes = _parse_largest_peak_bytes(d.pop("largest_peak_bytes"))

        def _parse_largest_peak(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        largest_peak = _parse_largest_peak(d.pop("largest_peak"))

        def _parse_champion(data: object) -> ModelType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_model_type_0 = ModelType0.from_dict(data)

                return componentsschemas_model_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ModelType0 | None, data)

        champion = _parse_champion(d.pop("champion"))

        def _parse_memory_bytes(data: object) -> None | QuantilesType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_quantiles_type_0 = QuantilesType0.from_dict(data)

                return componentsschemas_quantiles_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | QuantilesType0, data)

        memory_bytes = _parse_memory_bytes(d.pop("memory_bytes"))

        def _parse_duration_seconds(data: object) -> None | QuantilesType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_quantiles_type_0 = QuantilesType0.from_dict(data)

                return componentsschemas_quantiles_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | QuantilesType0, data)

        duration_seconds = _parse_duration_seconds(d.pop("duration_seconds"))

        def _parse_requested(data: object) -> None | ResourcesType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_resources_type_0 = ResourcesType0.from_dict(data)

                return componentsschemas_resources_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResourcesType0, data)

        requested = _parse_requested(d.pop("requested"))

        features = []
        _features = d.pop("features")
        for features_item_data in _features:
            features_item = FeatureField.from_dict(features_item_data)

            features.append(features_item)

        ambiguous = d.pop("ambiguous")

        def _parse_ambiguity(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        ambiguity = _parse_ambiguity(d.pop("ambiguity"))

        policy = Policy.from_dict(d.pop("policy"))

        def _parse_exam(data: object) -> None | TaskProfileExamType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                exam_type_0 = TaskProfileExamType0.from_dict(data)

                return exam_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TaskProfileExamType0, data)

        exam = _parse_exam(d.pop("exam"))

        risk = RiskRecord.from_dict(d.pop("risk"))

        def _parse_bins_bytes(data: object) -> list[int] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                bins_bytes_type_0 = cast(list[int], data)

                return bins_bytes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None, data)

        bins_bytes = _parse_bins_bytes(d.pop("bins_bytes"))

        _quarantined = d.pop("quarantined", UNSET)
        quarantined: list[Quarantined] | Unset = UNSET
        if _quarantined is not UNSET:
            quarantined = []
            for quarantined_item_data in _quarantined:
                quarantined_item = Quarantined.from_dict(quarantined_item_data)

                quarantined.append(quarantined_item)

        _profile = d.pop("profile", UNSET)
        profile: TaskUsageProfile | Unset
        if isinstance(_profile, Unset):
            profile = UNSET
        else:
            profile = TaskUsageProfile.from_dict(_profile)

        _anomaly = d.pop("anomaly", UNSET)
        anomaly: UsageAnomaly | Unset
        if isinstance(_anomaly, Unset):
            anomaly = UNSET
        else:
            anomaly = UsageAnomaly.from_dict(_anomaly)

        task_profile = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            observations=observations,
            kills=kills,
            last_seen=last_seen,
            group=group,
            largest_peak_bytes=largest_peak_bytes,
            largest_peak=largest_peak,
            champion=champion,
            memory_bytes=memory_bytes,
            duration_seconds=duration_seconds,
            requested=requested,
            features=features,
            ambiguous=ambiguous,
            ambiguity=ambiguity,
            policy=policy,
            exam=exam,
            risk=risk,
            bins_bytes=bins_bytes,
            quarantined=quarantined,
            profile=profile,
            anomaly=anomaly,
        )

        return task_profile
