from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.mode import Mode
from ..models.source import Source
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.bins_type_0 import BinsType0
    from ..models.cohort import Cohort
    from ..models.cpu_type_0 import CPUType0
    from ..models.duration_type_0 import DurationType0
    from ..models.gpu_memory import GPUMemory
    from ..models.memory_type_0 import MemoryType0
    from ..models.model_type_0 import ModelType0
    from ..models.plan import Plan
    from ..models.risk import Risk
    from ..models.warning import Warning_


T = TypeVar("T", bound="Prediction")


@_attrs_define
class Prediction:
    """The allocation and its reason.

    Attributes:
        prediction_id (str): `prediction_id` of a prediction.
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        memory (MemoryType0 | None): Memory request and limit of the pod.
        shadow (MemoryType0 | None): Memory request and limit of the pod.
        cpu (CPUType0 | None): CPU request of the pod; the service never sets a CPU limit.
        duration (DurationType0 | None): Predicted run time over the node types and cluster loads of past runs; those of
            the request change it only for a task with few runs. A stored answer contains only the median and the 95 %
            quantile; its other fields are null.
        bins (BinsType0 | None): For each bin of the task, the probability that the peak is in it. With the grid `bins`
            the allocation is the upper edge of the chosen bin.
        ladder_bytes (list[int] | None): Allocation of the first try, then of each lift.
        risk (Risk):
        source (Source): `model`: the task's own model. `profile`: the task's short history, mostly by a Bayesian
            average of simple models; or,
            while the model is not in memory, the task's largest peak and kill. `cohort`: similar tasks. `requested`: the
            static
            request, because nothing better is known, or because the mode is `shadow` or `off`. `lift`: an earlier try of
            this run
            was OOM-killed.
        mode (Mode): `enforce` grants the prediction; `shadow` grants the static request and shows the prediction in the
            field `shadow`; `off` grants the static request.
        model (ModelType0 | None):
        reason (str): Explanation of the allocation for operators.
        gpu_memory (GPUMemory | Unset): Predicted peak of the GPU memory of a task without history, from its usage
            profiles. Absent if it is unknown, or if the task probably uses none; stored answers do not contain it.
        cohort (Cohort | Unset): The other tasks of the namespace from which an answer with the source `cohort` comes.
            Stored answers do not contain it.
        plan (Plan | Unset): Amounts that grow during the run, for callers that can resize a pod. The plan is absent if
            the policy does not set
            `phases`, in the modes `shadow` and `off`, after an OOM kill of the run, or if fewer than three runs were
            learned or
            their median duration is below ten minutes. `memory` of the prediction stays the static grant: a caller that
            does not
            resize, or can no longer do so, uses it.
        warnings (list[Warning_] | Unset): Implausible amounts, and parts of the request that were ignored, such as a
            feature of another kind; absent if there are none.
    """

    prediction_id: str
    namespace: str
    dag_id: str
    task_id: str
    memory: MemoryType0 | None
    shadow: MemoryType0 | None
    cpu: CPUType0 | None
    duration: DurationType0 | None
    bins: BinsType0 | None
    ladder_bytes: list[int] | None
    risk: Risk
    source: Source
    mode: Mode
    model: ModelType0 | None
    reason: str
    gpu_memory: GPUMemory | Unset = UNSET
    cohort: Cohort | Unset = UNSET
    plan: Plan | Unset = UNSET
    warnings: list[Warning_] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.bins_type_0 import BinsType0
        from ..models.cpu_type_0 import CPUType0
        from ..models.duration_type_0 import DurationType0
        from ..models.memory_type_0 import MemoryType0
        from ..models.model_type_0 import ModelType0

        prediction_id = self.prediction_id

        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        memory: dict[str, Any] | None
        if isinstance(self.memory, MemoryType0):
            memory = self.memory.to_dict()
        else:
            memory = self.memory

        shadow: dict[str, Any] | None
        if isinstance(self.shadow, MemoryType0):
            shadow = self.shadow.to_dict()
        else:
            shadow = self.shadow

        cpu: dict[str, Any] | None
        if isinstance(self.cpu, CPUType0):
            cpu = self.cpu.to_dict()
        else:
            cpu = self.cpu

        duration: dict[str, Any] | None
        if isinstance(self.duration, DurationType0):
            duration = self.duration.to_dict()
        else:
            duration = self.duration

        bins: dict[str, Any] | None
        if isinstance(self.bins, BinsType0):
            bins = self.bins.to_dict()
        else:
            bins = self.bins

        ladder_bytes: list[int] | None
        if isinstance(self.ladder_bytes, list):
            ladder_bytes = self.ladder_bytes

        else:
            ladder_bytes = self.ladder_bytes

        risk = self.risk.to_dict()

        source = self.source.value

        mode = self.mode.value

        model: dict[str, Any] | None
        if isinstance(self.model, ModelType0):
            model = self.model.to_dict()
        else:
            model = self.model

        reason = self.reason

        gpu_memory: dict[str, Any] | Unset = UNSET
        if not isinstance(self.gpu_memory, Unset):
            gpu_memory = self.gpu_memory.to_dict()

        cohort: dict[str, Any] | Unset = UNSET
        if not isinstance(self.cohort, Unset):
            cohort = self.cohort.to_dict()

        plan: dict[str, Any] | Unset = UNSET
        if not isinstance(self.plan, Unset):
            plan = self.plan.to_dict()

        warnings: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.warnings, Unset):
            warnings = []
            for warnings_item_data in self.warnings:
                warnings_item = warnings_item_data.to_dict()
                warnings.append(warnings_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "prediction_id": prediction_id,
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "memory": memory,
                "shadow": shadow,
                "cpu": cpu,
                "duration": duration,
                "bins": bins,
                "ladder_bytes": ladder_bytes,
                "risk": risk,
                "source": source,
                "mode": mode,
                "model": model,
                "reason": reason,
            }
        )
        if gpu_memory is not UNSET:
            field_dict["gpu_memory"] = gpu_memory
        if cohort is not UNSET:
            field_dict["cohort"] = cohort
        if plan is not UNSET:
            field_dict["plan"] = plan
        if warnings is not UNSET:
            field_dict["warnings"] = warnings

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bins_type_0 import BinsType0
        from ..models.cohort import Cohort
        from ..models.cpu_type_0 import CPUType0
        from ..models.duration_type_0 import DurationType0
        from ..models.gpu_memory import GPUMemory
        from ..models.memory_type_0 import MemoryType0
        from ..models.model_type_0 import ModelType0
        from ..models.plan import Plan
        from ..models.risk import Risk
        from ..models.warning import Warning_

        d = dict(src_dict)
        prediction_id = d.pop("prediction_id")

        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        def _parse_memory(data: object) -> MemoryType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_memory_type_0 = MemoryType0.from_dict(data)

                return componentsschemas_memory_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MemoryType0 | None, data)

        memory = _parse_memory(d.pop("memory"))

        def _parse_shadow(data: object) -> MemoryType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_memory_type_0 = MemoryType0.from_dict(data)

                return componentsschemas_memory_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MemoryType0 | None, data)

        shadow = _parse_shadow(d.pop("shadow"))

        def _parse_cpu(data: object) -> CPUType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_cpu_type_0 = CPUType0.from_dict(data)

                return componentsschemas_cpu_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CPUType0 | None, data)

        cpu = _parse_cpu(d.pop("cpu"))

        def _parse_duration(data: object) -> DurationType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_duration_type_0 = DurationType0.from_dict(data)

                return componentsschemas_duration_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DurationType0 | None, data)

        duration = _parse_duration(d.pop("duration"))

        def _parse_bins(data: object) -> BinsType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_bins_type_0 = BinsType0.from_dict(data)

                return componentsschemas_bins_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BinsType0 | None, data)

        bins = _parse_bins(d.pop("bins"))

        def _parse_ladder_bytes(data: object) -> list[int] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                ladder_bytes_type_0 = cast(list[int], data)

                return ladder_bytes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None, data)

        ladder_bytes = _parse_ladder_bytes(d.pop("ladder_bytes"))

        risk = Risk.from_dict(d.pop("risk"))

        source = Source(d.pop("source"))

        mode = Mode(d.pop("mode"))

        def _parse_model(data: object) -> ModelType0 | None:
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

        model = _parse_model(d.pop("model"))

        reason = d.pop("reason")

        _gpu_memory = d.pop("gpu_memory", UNSET)
        gpu_memory: GPUMemory | Unset
        if isinstance(_gpu_memory, Unset):
            gpu_memory = UNSET
        else:
            gpu_memory = GPUMemory.from_dict(_gpu_memory)

        _cohort = d.pop("cohort", UNSET)
        cohort: Cohort | Unset
        if isinstance(_cohort, Unset):
            cohort = UNSET
        else:
            cohort = Cohort.from_dict(_cohort)

        _plan = d.pop("plan", UNSET)
        plan: Plan | Unset
        if isinstance(_plan, Unset):
            plan = UNSET
        else:
            plan = Plan.from_dict(_plan)

        _warnings = d.pop("warnings", UNSET)
        warnings: list[Warning_] | Unset = UNSET
        if _warnings is not UNSET:
            warnings = []
            for warnings_item_data in _warnings:
                warnings_item = Warning_.from_dict(warnings_item_data)

                warnings.append(warnings_item)

        prediction = cls(
            prediction_id=prediction_id,
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            memory=memory,
            shadow=shadow,
            cpu=cpu,
            duration=duration,
            bins=bins,
            ladder_bytes=ladder_bytes,
            risk=risk,
            source=source,
            mode=mode,
            model=model,
            reason=reason,
            gpu_memory=gpu_memory,
            cohort=cohort,
            plan=plan,
            warnings=warnings,
        )

        return prediction
