from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from dateutil.parser import isoparse

from ..models.phases_mode import PhasesMode

if TYPE_CHECKING:
    from ..models.next_plan_type_0 import NextPlanType0
    from ..models.phase_prototype import PhasePrototype
    from ..models.phased_run import PhasedRun
    from ..models.plan_savings import PlanSavings
    from ..models.task_phase import TaskPhase


T = TypeVar("T", bound="TaskPhases")


@_attrs_define
class TaskPhases:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        mode (PhasesMode): `off`: no plans. `observe`: predictions have a plan that no caller follows. `cpu`: the CPU
            request follows the plan. `memory`:
            the CPU request, the memory request and the memory limit follow it.
        version (int):
        learned_at (datetime.datetime):
        runs (int): Learned runs.
        step_seconds (float): Width of the steps in which phases are found; 0 before they are found.
        silhouette (float): How distinct the phases are; 0 for one phase.
        phases (list[TaskPhase]):
        starts (list[float]): Probability that a run starts in each phase.
        prototypes (list[PhasePrototype]): The six most frequent sequences of phases.
        coverage (float): Share of the runs that follow one of the prototypes.
        plan (NextPlanType0 | None): The plan of a run with the newest known static grant; null if no static grant is
            known, fewer than three runs were learned, or their median duration is below ten minutes.
        savings (PlanSavings):
        newest_runs (list[PhasedRun]): Oldest first.
    """

    namespace: str
    dag_id: str
    task_id: str
    mode: PhasesMode
    version: int
    learned_at: datetime.datetime
    runs: int
    step_seconds: float
    silhouette: float
    phases: list[TaskPhase]
    starts: list[float]
    prototypes: list[PhasePrototype]
    coverage: float
    plan: NextPlanType0 | None
    savings: PlanSavings
    newest_runs: list[PhasedRun]

    def to_dict(self) -> dict[str, Any]:
        from ..models.next_plan_type_0 import NextPlanType0

        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        mode = self.mode.value

        version = self.version

        learned_at = self.learned_at.isoformat()

        runs = self.runs

        step_seconds = self.step_seconds

        silhouette = self.silhouette

        phases = []
        for phases_item_data in self.phases:
            phases_item = phases_item_data.to_dict()
            phases.append(phases_item)

        starts = self.starts

        prototypes = []
        for prototypes_item_data in self.prototypes:
            prototypes_item = prototypes_item_data.to_dict()
            prototypes.append(prototypes_item)

        coverage = self.coverage

        plan: dict[str, Any] | None
        if isinstance(self.plan, NextPlanType0):
            plan = self.plan.to_dict()
        else:
            plan = self.plan

        savings = self.savings.to_dict()

        newest_runs = []
        for newest_runs_item_data in self.newest_runs:
            newest_runs_item = newest_runs_item_data.to_dict()
            newest_runs.append(newest_runs_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "mode": mode,
                "version": version,
                "learned_at": learned_at,
                "runs": runs,
                "step_seconds": step_seconds,
                "silhouette": silhouette,
                "phases": phases,
                "starts": starts,
                "prototypes": prototypes,
                "coverage": coverage,
                "plan": plan,
                "savings": savings,
                "newest_runs": newest_runs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.next_plan_type_0 import NextPlanType0
        from ..models.phase_prototype import PhasePrototype
        from ..models.phased_run import PhasedRun
        from ..models.plan_savings import PlanSavings
        from ..models.task_phase import TaskPhase

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        mode = PhasesMode(d.pop("mode"))

        version = d.pop("version")

        learned_at = isoparse(d.pop("learned_at"))

        runs = d.pop("runs")

        step_seconds = d.pop("step_seconds")

        silhouette = d.pop("silhouette")

        phases = []
        _phases = d.pop("phases")
        for phases_item_data in _phases:
            phases_item = TaskPhase.from_dict(phases_item_data)

            phases.append(phases_item)

        starts = cast(list[float], d.pop("starts"))

        prototypes = []
        _prototypes = d.pop("prototypes")
        for prototypes_item_data in _prototypes:
            prototypes_item = PhasePrototype.from_dict(prototypes_item_data)

            prototypes.append(prototypes_item)

        coverage = d.pop("coverage")

        def _parse_plan(data: object) -> NextPlanType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_next_plan_type_0 = NextPlanType0.from_dict(data)

                return componentsschemas_next_plan_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(NextPlanType0 | None, data)

        plan = _parse_plan(d.pop("plan"))

        savings = PlanSavings.from_dict(d.pop("savings"))

        newest_runs = []
        _newest_runs = d.pop("newest_runs")
        for newest_runs_item_data in _newest_runs:
            newest_runs_item = PhasedRun.from_dict(newest_runs_item_data)

            newest_runs.append(newest_runs_item)

        task_phases = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            mode=mode,
            version=version,
            learned_at=learned_at,
            runs=runs,
            step_seconds=step_seconds,
            silhouette=silhouette,
            phases=phases,
            starts=starts,
            prototypes=prototypes,
            coverage=coverage,
            plan=plan,
            savings=savings,
            newest_runs=newest_runs,
        )

        return task_phases
