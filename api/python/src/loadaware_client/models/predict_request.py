from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.features_type_0 import FeaturesType0
    from ..models.metadata_type_0 import MetadataType0
    from ..models.resources_type_0 import ResourcesType0


T = TypeVar("T", bound="PredictRequest")


@_attrs_define
class PredictRequest:
    """The request before a launch.

    Attributes:
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        namespace (None | str | Unset): `default` if omitted.
        run_id (None | str | Unset): If omitted, the request is an ad-hoc look-up and not a try.
        map_index (int | None | Unset): Index of a mapped task. If omitted: -1, which means that the task is not mapped.
        try_number (int | None | Unset): Airflow's try number; 1 if omitted.
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
        requested (None | ResourcesType0 | Unset): Memory and CPU, each as a number or as a quantity. Example:
            {'memory': '350Gi', 'cpu': '6'}.
        max_memory_bytes (int | None | Unset): Maximum allocation, for example the memory of the largest node. It
            applies to this prediction and to a lift after it, and not to later predictions of the run.
        max_memory (None | str | Unset): `max_memory_bytes` as a quantity.
        metadata (MetadataType0 | None | Unset): Static facts about the task, by name, for example its operator, image,
            owner, pool and tags. The server compares a task
            without history with other tasks by these facts. A value is a string or a list of strings. At most 30 names of
            60
            characters, values of 200 characters, lists of 30 values, and 8,192 bytes in all; the server ignores entries
            beyond these
            limits with a warning. Do not send secrets.
             Example: {'operator': 'KubernetesPodOperator', 'image': 'registry/forecast:2.4', 'owner': 'pricing', 'tags':
            ['nightly', 'emea']}.
        node_type (None | str | Unset): Instance type or class of the node, at most 200 characters. For a task with few
            runs the predicted shape of the run times depends on it; `GET /tasks/{dag_id}/{task_id}/runtime/whatif` shows
            its effect on other tasks.
        cluster_load (float | None | Unset): Allocated share of the cluster at the launch, 0 to 1; used like
            `node_type`.
        execution_timeout_seconds (float | None | Unset): Execution timeout of the task; the answer has the probability
            that the run exceeds it.
    """

    dag_id: str
    task_id: str
    namespace: None | str | Unset = UNSET
    run_id: None | str | Unset = UNSET
    map_index: int | None | Unset = UNSET
    try_number: int | None | Unset = UNSET
    features: FeaturesType0 | None | Unset = UNSET
    requested: None | ResourcesType0 | Unset = UNSET
    max_memory_bytes: int | None | Unset = UNSET
    max_memory: None | str | Unset = UNSET
    metadata: MetadataType0 | None | Unset = UNSET
    node_type: None | str | Unset = UNSET
    cluster_load: float | None | Unset = UNSET
    execution_timeout_seconds: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.features_type_0 import FeaturesType0
        from ..models.metadata_type_0 import MetadataType0
        from ..models.resources_type_0 import ResourcesType0

        dag_id = self.dag_id

        task_id = self.task_id

        namespace: None | str | Unset
        if isinstance(self.namespace, Unset):
            namespace = UNSET
        else:
            namespace = self.namespace

        run_id: None | str | Unset
        if isinstance(self.run_id, Unset):
            run_id = UNSET
        else:
            run_id = self.run_id

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

        features: dict[str, Any] | None | Unset
        if isinstance(self.features, Unset):
            features = UNSET
        elif isinstance(self.features, FeaturesType0):
            features = self.features.to_dict()
        else:
            features = self.features

        requested: dict[str, Any] | None | Unset
        if isinstance(self.requested, Unset):
            requested = UNSET
        elif isinstance(self.requested, ResourcesType0):
            requested = self.requested.to_dict()
        else:
            requested = self.requested

        max_memory_bytes: int | None | Unset
        if isinstance(self.max_memory_bytes, Unset):
            max_memory_bytes = UNSET
        else:
            max_memory_bytes = self.max_memory_bytes

        max_memory: None | str | Unset
        if isinstance(self.max_memory, Unset):
            max_memory = UNSET
        else:
            max_memory = self.max_memory

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

        execution_timeout_seconds: float | None | Unset
        if isinstance(self.execution_timeout_seconds, Unset):
            execution_timeout_seconds = UNSET
        else:
            execution_timeout_seconds = self.execution_timeout_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "dag_id": dag_id,
                "task_id": task_id,
            }
        )
        if namespace is not UNSET:
            field_dict["namespace"] = namespace
        if run_id is not UNSET:
            field_dict["run_id"] = run_id
        if map_index is not UNSET:
            field_dict["map_index"] = map_index
        if try_number is not UNSET:
            field_dict["try_number"] = try_number
        if features is not UNSET:
            field_dict["features"] = features
        if requested is not UNSET:
            field_dict["requested"] = requested
        if max_memory_bytes is not UNSET:
            field_dict["max_memory_bytes"] = max_memory_bytes
        if max_memory is not UNSET:
            field_dict["max_memory"] = max_memory
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if node_type is not UNSET:
            field_dict["node_type"] = node_type
        if cluster_load is not UNSET:
            field_dict["cluster_load"] = cluster_load
        if execution_timeout_seconds is not UNSET:
            field_dict["execution_timeout_seconds"] = execution_timeout_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.features_type_0 import FeaturesType0
        from ..models.metadata_type_0 import MetadataType0
        from ..models.resources_type_0 import ResourcesType0

        d = dict(src_dict)
        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        def _parse_namespace(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        namespace = _parse_namespace(d.pop("namespace", UNSET))

        def _parse_run_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        run_id = _parse_run_id(d.pop("run_id", UNSET))

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

        def _parse_max_memory_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_memory_bytes = _parse_max_memory_bytes(d.pop("max_memory_bytes", UNSET))

        def _parse_max_memory(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        max_memory = _parse_max_memory(d.pop("max_memory", UNSET))

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

        def _parse_execution_timeout_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        execution_timeout_seconds = _parse_execution_timeout_seconds(d.pop("execution_timeout_seconds", UNSET))

        predict_request = cls(
            dag_id=dag_id,
            task_id=task_id,
            namespace=namespace,
            run_id=run_id,
            map_index=map_index,
            try_number=try_number,
            features=features,
            requested=requested,
            max_memory_bytes=max_memory_bytes,
            max_memory=max_memory,
            metadata=metadata,
            node_type=node_type,
            cluster_load=cluster_load,
            execution_timeout_seconds=execution_timeout_seconds,
        )

        return predict_request
