from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..models.outcome import Outcome
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.detailed_series_type_0 import DetailedSeriesType0
    from ..models.executed_plan_type_0 import ExecutedPlanType0
    from ..models.features_type_0 import FeaturesType0
    from ..models.metadata_type_0 import MetadataType0
    from ..models.resources_type_0 import ResourcesType0
    from ..models.usage_series_type_0 import UsageSeriesType0
    from ..models.usage_type_0 import UsageType0


T = TypeVar("T", bound="Observation")


@_attrs_define
class Observation:
    """The usage and outcome of one try.

    Attributes:
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        run_id (str): 1 to 250 characters except control characters. Example: scheduled__2020-01-03T00:00:00+00:00.
        outcome (Outcome): `oom_killed`: the kernel killed the try at its memory limit. `app_oom`: the program reported
            that it ran out of memory.
            `failed`: an error unrelated to memory. `killed`: a signal of unknown cause. `evicted`: the node evicted the
            pod.
            `unschedulable`: no node can run the allocation. Only `oom_killed` and `app_oom` show a lack of memory.
        namespace (None | str | Unset): `default` if omitted.
        map_index (int | None | Unset): Index of a mapped task. If omitted: -1, which means that the task is not mapped.
        try_number (int | None | Unset): Airflow's try number; 1 if omitted.
        memory_max_bytes (int | None | Unset): The measured peak.
        memory_max (None | str | Unset): The measured peak as a quantity.
        memory_sampled_bytes (int | None | Unset): The largest sample of a monitoring system with a sampling interval,
            such as Prometheus, which misses short peaks.
            Reports with both values show by which factors samples underestimate peaks. A report with this value alone is
            corrected upwards by such a factor.
        cpu_max_cores (float | None | Unset): The measured peak of the CPU usage.
        duration_seconds (float | None | Unset): Duration of the try. If omitted, it is the time from `started_at` to
            `ended_at`. 0 is a duration below the resolution of a clock: the time from `started_at` to `ended_at` counts
            instead, or half a second if that is unknown or 0.
        started_at (datetime.datetime | None | Unset): In the years 1970 to 2199 in UTC.
        ended_at (datetime.datetime | None | Unset): In the years 1970 to 2199 in UTC, not before `started_at`.
        allocated (None | ResourcesType0 | Unset): Memory and CPU, each as a number or as a quantity. Example:
            {'memory': '350Gi', 'cpu': '6'}.
        requested (None | ResourcesType0 | Unset): Memory and CPU, each as a number or as a quantity. Example:
            {'memory': '350Gi', 'cpu': '6'}.
        features (FeaturesType0 | None | Unset): Inputs that are known before the launch, by name (1 to 100 characters,
            at most 200 names). A value is a number, a
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
        prediction_id (None | str | Unset): The prediction whose amount the try got. If it is omitted, not stored any
            more, or the id of another try, the newest
            prediction before the end of the try counts.
        provisional (bool | None | Unset): The report does not come from the executor of the try, but for example from a
            monitoring system. A later report without
            this field replaces it where they differ. A provisional report replaces no values, with one exception: after a
            provisional `oom_killed` with `started_at` or `ended_at`, the outcome of an earlier or later `failed` or
            `killed` of the try is `oom_killed`. A provisional report with a series, a plan, metadata, usage or
            placement is stored as a final one. `loadaware import prometheus` sends this field.
        usage_series (None | Unset | UsageSeriesType0): The usage of a try over time, in equal steps from its start: the
            first step covers 0 to `step_seconds`. The server
            stores the series with the report, and `GET /tasks/{dag_id}/{task_id}/series` returns it. Plans are learned from
            it if the
            try is a success without `detailed_series`, and the series has ten minutes or more in steps of at most ten
            minutes.
        detailed_series (DetailedSeriesType0 | None | Unset): The usage of a try in short equal steps from its start,
            from which phases and plans are learned instead of from
            `usage_series`. Use steps of at most 15
            seconds as long as the run fits into 8,192 steps, and omit the series for runs below ten minutes. The server
            keeps the
            newest 64 of a task; it rounds memory up to 64 KiB and CPU to a millicore.
        executed_plan (ExecutedPlanType0 | None | Unset): How the caller executed the plan of a prediction. The outcomes
            of tries whose memory followed a plan make later plans more or less cautious.
        usage (None | Unset | UsageType0): The usage of the try apart from its peaks. A value out of range is ignored
            with a warning. Example: {'memory_mean_bytes': 2147483648, 'cpu_mean_cores': 0.8}.
        metadata (MetadataType0 | None | Unset): Static facts about the task, by name, for example its operator, image,
            owner, pool and tags. The server compares a task
            without history with other tasks by these facts. A value is a string or a list of strings. At most 30 names of
            60
            characters, values of 200 characters, lists of 30 values, and 8,192 bytes in all; the server ignores entries
            beyond these
            limits with a warning. Do not send secrets.
             Example: {'operator': 'KubernetesPodOperator', 'image': 'registry/forecast:2.4', 'owner': 'pricing', 'tags':
            ['nightly', 'emea']}.
        node_type (None | str | Unset): Instance type or class of the node, at most 200 characters.
        cluster_load (float | None | Unset): Allocated share of the cluster at the launch, 0 to 1.
    """

    dag_id: str
    task_id: str
    run_id: str
    outcome: Outcome
    namespace: None | str | Unset = UNSET
    map_index: int | None | Unset = UNSET
    try_number: int | None | Unset = UNSET
    memory_max_bytes: int | None | Unset = UNSET
    memory_max: None | str | Unset = UNSET
    memory_sampled_bytes: int | None | Unset = UNSET
    cpu_max_cores: float | None | Unset = UNSET
    duration_seconds: float | None | Unset = UNSET
    started_at: datetime.datetime | None | Unset = UNSET
    ended_at: datetime.datetime | None | Unset = UNSET
    allocated: None | ResourcesType0 | Unset = UNSET
    requested: None | ResourcesType0 | Unset = UNSET
    features: FeaturesType0 | None | Unset = UNSET
    prediction_id: None | str | Unset = UNSET
    provisional: bool | None | Unset = UNSET
    usage_series: None | Unset | UsageSeriesType0 = UNSET
    detailed_series: DetailedSeriesType0 | None | Unset = UNSET
    executed_plan: ExecutedPlanType0 | None | Unset = UNSET
    usage: None | Unset | UsageType0 = UNSET
    metadata: MetadataType0 | None | Unset = UNSET
    node_type: None | str | Unset = UNSET
    cluster_load: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.detailed_series_type_0 import DetailedSeriesType0
        from ..models.executed_plan_type_0 import ExecutedPlanType0
        from ..models.features_type_0 import FeaturesType0
        from ..models.metadata_type_0 import MetadataType0
        from ..models.resources_type_0 import ResourcesType0
        from ..models.usage_series_type_0 import UsageSeriesType0
        from ..models.usage_type_0 import UsageType0

        dag_id = self.dag_id

        task_id = self.task_id

        run_id = self.run_id

        outcome = self.outcome.value

        namespace: None | str | Unset
        if isinstance(self.namespace, Unset):
            namespace = UNSET
        else:
            namespace = self.namespace

        map_index: int | None | Unset
        if isinstance(self.map_index, Unset):
            map_index = UNSET
        else:
            map_index = self.map_index

        try_number: int | None | Unset
        if isinstance(self.try_number, Unset):
            try_number = UNSET
        else:
            try_number = self.try_number

        memory_max_bytes: int | None | Unset
        if isinstance(self.memory_max_bytes, Unset):
            memory_max_bytes = UNSET
        else:
            memory_max_bytes = self.memory_max_bytes

        memory_max: None | str | Unset
        if isinstance(self.memory_max, Unset):
            memory_max = UNSET
        else:
            memory_max = self.memory_max

        memory_sampled_bytes: int | None | Unset
        if isinstance(self.memory_sampled_bytes, Unset):
            memory_sampled_bytes = UNSET
        else:
            memory_sampled_bytes = self.memory_sampled_bytes

        cpu_max_cores: float | None | Unset
        if isinstance(self.cpu_max_cores, Unset):
            cpu_max_cores = UNSET
        else:
            cpu_max_cores = self.cpu_max_cores

        duration_seconds: float | None | Unset
        if isinstance(self.duration_seconds, Unset):
            duration_seconds = UNSET
        else:
            duration_seconds = self.duration_seconds

        started_at: None | str | Unset
        if isinstance(self.started_at, Unset):
            started_at = UNSET
        elif isinstance(self.started_at, datetime.datetime):
            started_at = self.started_at.isoformat()
        else:
            started_at = self.started_at

        ended_at: None | str | Unset
        if isinstance(self.ended_at, Unset):
            ended_at = UNSET
        elif isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        allocated: dict[str, Any] | None | Unset
        if isinstance(self.allocated, Unset):
            allocated = UNSET
        elif isinstance(self.allocated, ResourcesType0):
            allocated = self.allocated.to_dict()
        else:
            allocated = self.allocated

        requested: dict[str, Any] | None | Unset
        if isinstance(self.requested, Unset):
            requested = UNSET
        elif isinstance(self.requested, ResourcesType0):
            requested = self.requested.to_dict()
        else:
            requested = self.requested

        features: dict[str, Any] | None | Unset
        if isinstance(self.features, Unset):
            features = UNSET
        elif isinstance(self.features, FeaturesType0):
            features = self.features.to_dict()
        else:
            features = self.features

        prediction_id: None | str | Unset
        if isinstance(self.prediction_id, Unset):
            prediction_id = UNSET
        else:
            prediction_id = self.prediction_id

        provisional: bool | None | Unset
        if isinstance(self.provisional, Unset):
            provisional = UNSET
        else:
            provisional = self.provisional

        usage_series: dict[str, Any] | None | Unset
        if isinstance(self.usage_series, Unset):
            usage_series = UNSET
        elif isinstance(self.usage_series, UsageSeriesType0):
            usage_series = self.usage_series.to_dict()
        else:
            usage_series = self.usage_series

        detailed_series: dict[str, Any] | None | Unset
        if isinstance(self.detailed_series, Unset):
            detailed_series = UNSET
        elif isinstance(self.detailed_series, DetailedSeriesType0):
            detailed_series = self.detailed_series.to_dict()
        else:
            detailed_series = self.detailed_series

        executed_plan: dict[str, Any] | None | Unset
        if isinstance(self.executed_plan, Unset):
            executed_plan = UNSET
        elif isinstance(self.executed_plan, ExecutedPlanType0):
            executed_plan = self.executed_plan.to_dict()
        else:
            executed_plan = self.executed_plan

        usage: dict[str, Any] | None | Unset
        if isinstance(self.usage, Unset):
            usage = UNSET
        elif isinstance(self.usage, UsageType0):
            usage = self.usage.to_dict()
        else:
            usage = self.usage

        metadata: dict[str, Any] | None | Unset
        if isinstance(self.metadata, Unset):
            metadata = UNSET
        elif isinstance(self.metadata, MetadataType0):
            metadata = self.metadata.to_dict()
        else:
            metadata = self.metadata

        node_type: None | str | Unset
        if isinstance(self.node_type, Unset):
            node_type = UNSET
        else:
            node_type = self.node_type

        cluster_load: float | None | Unset
        if isinstance(self.cluster_load, Unset):
            cluster_load = UNSET
        else:
            cluster_load = self.cluster_load

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "dag_id": dag_id,
                "task_id": task_id,
                "run_id": run_id,
                "outcome": outcome,
            }
        )
        if namespace is not UNSET:
            field_dict["namespace"] = namespace
        if map_index is not UNSET:
            field_dict["map_index"] = map_index
        if try_number is not UNSET:
            field_dict["try_number"] = try_number
        if memory_max_bytes is not UNSET:
            field_dict["memory_max_bytes"] = memory_max_bytes
        if memory_max is not UNSET:
            field_dict["memory_max"] = memory_max
        if memory_sampled_bytes is not UNSET:
            field_dict["memory_sampled_bytes"] = memory_sampled_bytes
        if cpu_max_cores is not UNSET:
            field_dict["cpu_max_cores"] = cpu_max_cores
        if duration_seconds is not UNSET:
            field_dict["duration_seconds"] = duration_seconds
        if started_at is not UNSET:
            field_dict["started_at"] = started_at
        if ended_at is not UNSET:
            field_dict["ended_at"] = ended_at
        if allocated is not UNSET:
            field_dict["allocated"] = allocated
        if requested is not UNSET:
            field_dict["requested"] = requested
        if features is not UNSET:
            field_dict["features"] = features
        if prediction_id is not UNSET:
            field_dict["prediction_id"] = prediction_id
        if provisional is not UNSET:
            field_dict["provisional"] = provisional
        if usage_series is not UNSET:
            field_dict["usage_series"] = usage_series
        if detailed_series is not UNSET:
            field_dict["detailed_series"] = detailed_series
        if executed_plan is not UNSET:
            field_dict["executed_plan"] = executed_plan
        if usage is not UNSET:
            field_dict["usage"] = usage
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if node_type is not UNSET:
            field_dict["node_type"] = node_type
        if cluster_load is not UNSET:
            field_dict["cluster_load"] = cluster_load

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.detailed_series_type_0 import DetailedSeriesType0
        from ..models.executed_plan_type_0 import ExecutedPlanType0
        from ..models.features_type_0 import FeaturesType0
        from ..models.metadata_type_0 import MetadataType0
        from ..models.resources_type_0 import ResourcesType0
        from ..models.usage_series_type_0 import UsageSeriesType0
        from ..models.usage_type_0 import UsageType0

        d = dict(src_dict)
        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        run_id = d.pop("run_id")

        outcome = Outcome(d.pop("outcome"))

        def _parse_namespace(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        namespace = _parse_namespace(d.pop("namespace", UNSET))

        def _parse_map_index(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        map_index = _parse_map_index(d.pop("map_index", UNSET))

        def _parse_try_number(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        try_number = _parse_try_number(d.pop("try_number", UNSET))

        def _parse_memory_max_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_max_bytes = _parse_memory_max_bytes(d.pop("memory_max_bytes", UNSET))

        def _parse_memory_max(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        memory_max = _parse_memory_max(d.pop("memory_max", UNSET))

        def _parse_memory_sampled_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_sampled_bytes = _parse_memory_sampled_bytes(d.pop("memory_sampled_bytes", UNSET))

        def _parse_cpu_max_cores(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cpu_max_cores = _parse_cpu_max_cores(d.pop("cpu_max_cores", UNSET))

        def _parse_duration_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        duration_seconds = _parse_duration_seconds(d.pop("duration_seconds", UNSET))

        def _parse_started_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                started_at_type_0 = isoparse(data)

                return started_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        started_at = _parse_started_at(d.pop("started_at", UNSET))

        def _parse_ended_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = isoparse(data)

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        ended_at = _parse_ended_at(d.pop("ended_at", UNSET))

        def _parse_allocated(data: object) -> None | ResourcesType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_resources_type_0 = ResourcesType0.from_dict(data)

                return componentsschemas_resources_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResourcesType0 | Unset, data)

        allocated = _parse_allocated(d.pop("allocated", UNSET))

        def _parse_requested(data: object) -> None | ResourcesType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_resources_type_0 = ResourcesType0.from_dict(data)

                return componentsschemas_resources_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResourcesType0 | Unset, data)

        requested = _parse_requested(d.pop("requested", UNSET))

        def _parse_features(data: object) -> FeaturesType0 | None | Unset:
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

        features = _parse_features(d.pop("features", UNSET))

        def _parse_prediction_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        prediction_id = _parse_prediction_id(d.pop("prediction_id", UNSET))

        def _parse_provisional(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        provisional = _parse_provisional(d.pop("provisional", UNSET))

        def _parse_usage_series(data: object) -> None | Unset | UsageSeriesType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_usage_series_type_0 = UsageSeriesType0.from_dict(data)

                return componentsschemas_usage_series_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UsageSeriesType0, data)

        usage_series = _parse_usage_series(d.pop("usage_series", UNSET))

        def _parse_detailed_series(data: object) -> DetailedSeriesType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_detailed_series_type_0 = DetailedSeriesType0.from_dict(data)

                return componentsschemas_detailed_series_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DetailedSeriesType0 | None | Unset, data)

        detailed_series = _parse_detailed_series(d.pop("detailed_series", UNSET))

        def _parse_executed_plan(data: object) -> ExecutedPlanType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_executed_plan_type_0 = ExecutedPlanType0.from_dict(data)

                return componentsschemas_executed_plan_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExecutedPlanType0 | None | Unset, data)

        executed_plan = _parse_executed_plan(d.pop("executed_plan", UNSET))

        def _parse_usage(data: object) -> None | Unset | UsageType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_usage_type_0 = UsageType0.from_dict(data)

                return componentsschemas_usage_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UsageType0, data)

        usage = _parse_usage(d.pop("usage", UNSET))

        def _parse_metadata(data: object) -> MetadataType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_metadata_type_0 = MetadataType0.from_dict(data)

                return componentsschemas_metadata_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MetadataType0 | None | Unset, data)

        metadata = _parse_metadata(d.pop("metadata", UNSET))

        def _parse_node_type(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        node_type = _parse_node_type(d.pop("node_type", UNSET))

        def _parse_cluster_load(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cluster_load = _parse_cluster_load(d.pop("cluster_load", UNSET))

        observation = cls(
            dag_id=dag_id,
            task_id=task_id,
            run_id=run_id,
            outcome=outcome,
            namespace=namespace,
            map_index=map_index,
            try_number=try_number,
            memory_max_bytes=memory_max_bytes,
            memory_max=memory_max,
            memory_sampled_bytes=memory_sampled_bytes,
            cpu_max_cores=cpu_max_cores,
            duration_seconds=duration_seconds,
            started_at=started_at,
            ended_at=ended_at,
            allocated=allocated,
            requested=requested,
            features=features,
            prediction_id=prediction_id,
            provisional=provisional,
            usage_series=usage_series,
            detailed_series=detailed_series,
            executed_plan=executed_plan,
            usage=usage,
            metadata=metadata,
            node_type=node_type,
            cluster_load=cluster_load,
        )

        return observation
