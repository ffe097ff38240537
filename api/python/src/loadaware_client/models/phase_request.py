from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.phase_sample import PhaseSample


T = TypeVar("T", bound="PhaseRequest")


@_attrs_define
class PhaseRequest:
    """The usage of a running try so far.

    Attributes:
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        run_id (str): 1 to 250 characters except control characters. Example: scheduled__2020-01-03T00:00:00+00:00.
        elapsed_seconds (float): Time since the start of the try: its container, not its pod.
        limit_bytes (int): Bytes; at most 8Pi.
        namespace (None | str | Unset): `default` if omitted.
        map_index (int | None | Unset): Index of a mapped task. If omitted: -1, which means that the task is not mapped.
        try_number (int | None | Unset): Airflow's try number; 1 if omitted.
        static_bytes (int | None | Unset): `plan.static_bytes` of the prediction. Send it: otherwise only the replica
            that predicted the try knows the static grant, until it restarts.
        cpu_millicores (int | None | Unset): CPU request in force; without it the answer has no CPU.
        static_cpu_millicores (int | None | Unset): CPU request at the start of the try; `cpu_millicores` if omitted.
        memory_max_bytes (int | None | Unset): Largest memory since the start of the try. Send it unless the samples
            begin at the start.
        max_memory_bytes (int | None | Unset): Maximum allocation, as in the prediction request.
        samples (list[PhaseSample] | None | Unset): The newest samples in order of time, preferably of at least the last
            20 minutes. Fewer samples may leave the phase and the CPU request unknown.
    """

    dag_id: str
    task_id: str
    run_id: str
    elapsed_seconds: float
    limit_bytes: int
    namespace: None | str | Unset = UNSET
    map_index: int | None | Unset = UNSET
    try_number: int | None | Unset = UNSET
    static_bytes: int | None | Unset = UNSET
    cpu_millicores: int | None | Unset = UNSET
    static_cpu_millicores: int | None | Unset = UNSET
    memory_max_bytes: int | None | Unset = UNSET
    max_memory_bytes: int | None | Unset = UNSET
    samples: list[PhaseSample] | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        dag_id = self.dag_id

        task_id = self.task_id

        run_id = self.run_id

        elapsed_seconds = self.elapsed_seconds

        limit_bytes = self.limit_bytes

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

        static_bytes: int | None | Unset
        if isinstance(self.static_bytes, Unset):
            static_bytes = UNSET
        else:
            static_bytes = self.static_bytes

        cpu_millicores: int | None | Unset
        if isinstance(self.cpu_millicores, Unset):
            cpu_millicores = UNSET
        else:
            cpu_millicores = self.cpu_millicores

        static_cpu_millicores: int | None | Unset
        if isinstance(self.static_cpu_millicores, Unset):
            static_cpu_millicores = UNSET
        else:
            static_cpu_millicores = self.static_cpu_millicores

        memory_max_bytes: int | None | Unset
        if isinstance(self.memory_max_bytes, Unset):
            memory_max_bytes = UNSET
        else:
            memory_max_bytes = self.memory_max_bytes

        max_memory_bytes: int | None | Unset
        if isinstance(self.max_memory_bytes, Unset):
            max_memory_bytes = UNSET
        else:
            max_memory_bytes = self.max_memory_bytes

        samples: list[dict[str, Any]] | None | Unset
        if isinstance(self.samples, Unset):
            samples = UNSET
        elif isinstance(self.samples, list):
            samples = []
            for samples_type_0_item_data in self.samples:
                samples_type_0_item = samples_type_0_item_data.to_dict()
                samples.append(samples_type_0_item)

        else:
            samples = self.samples

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "dag_id": dag_id,
                "task_id": task_id,
                "run_id": run_id,
                "elapsed_seconds": elapsed_seconds,
                "limit_bytes": limit_bytes,
            }
        )
        if namespace is not UNSET:
            field_dict["namespace"] = namespace
        if map_index is not UNSET:
            field_dict["map_index"] = map_index
        if try_number is not UNSET:
            field_dict["try_number"] = try_number
        if static_bytes is not UNSET:
            field_dict["static_bytes"] = static_bytes
        if cpu_millicores is not UNSET:
            field_dict["cpu_millicores"] = cpu_millicores
        if static_cpu_millicores is not UNSET:
            field_dict["static_cpu_millicores"] = static_cpu_millicores
        if memory_max_bytes is not UNSET:
            field_dict["memory_max_bytes"] = memory_max_bytes
        if max_memory_bytes is not UNSET:
            field_dict["max_memory_bytes"] = max_memory_bytes
        if samples is not UNSET:
            field_dict["samples"] = samples

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.phase_sample import PhaseSample

        d = dict(src_dict)
        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        run_id = d.pop("run_id")

        elapsed_seconds = d.pop("elapsed_seconds")

        limit_bytes = d.pop("limit_bytes")

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

        def _parse_static_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        static_bytes = _parse_static_bytes(d.pop("static_bytes", UNSET))

        def _parse_cpu_millicores(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        cpu_millicores = _parse_cpu_millicores(d.pop("cpu_millicores", UNSET))

        def _parse_static_cpu_millicores(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        static_cpu_millicores = _parse_static_cpu_millicores(d.pop("static_cpu_millicores", UNSET))

        def _parse_memory_max_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_max_bytes = _parse_memory_max_bytes(d.pop("memory_max_bytes", UNSET))

        def _parse_max_memory_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_memory_bytes = _parse_max_memory_bytes(d.pop("max_memory_bytes", UNSET))

        def _parse_samples(data: object) -> list[PhaseSample] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                samples_type_0 = []
                _samples_type_0 = data
                for samples_type_0_item_data in _samples_type_0:
                    samples_type_0_item = PhaseSample.from_dict(samples_type_0_item_data)

                    samples_type_0.append(samples_type_0_item)

                return samples_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[PhaseSample] | None | Unset, data)

        samples = _parse_samples(d.pop("samples", UNSET))

        phase_request = cls(
            dag_id=dag_id,
            task_id=task_id,
            run_id=run_id,
            elapsed_seconds=elapsed_seconds,
            limit_bytes=limit_bytes,
            namespace=namespace,
            map_index=map_index,
            try_number=try_number,
            static_bytes=static_bytes,
            cpu_millicores=cpu_millicores,
            static_cpu_millicores=static_cpu_millicores,
            memory_max_bytes=memory_max_bytes,
            max_memory_bytes=max_memory_bytes,
            samples=samples,
        )

        return phase_request
