from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.run_time_quantiles import RunTimeQuantiles


T = TypeVar("T", bound="RunTimeWhatIf")


@_attrs_define
class RunTimeWhatIf:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        runs (int): Number of newest runs on whose inputs both distributions are based.
        before (RunTimeQuantiles):
        after (RunTimeQuantiles):
        node_types (list[str]): The node types whose effect is known.
    """

    namespace: str
    dag_id: str
    task_id: str
    runs: int
    before: RunTimeQuantiles
    after: RunTimeQuantiles
    node_types: list[str]

    def to_dict(self) -> dict[str, Any]:
        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        runs = self.runs

        before = self.before.to_dict()

        after = self.after.to_dict()

        node_types = self.node_types

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "runs": runs,
                "before": before,
                "after": after,
                "node_types": node_types,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.run_time_quantiles import RunTimeQuantiles

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        runs = d.pop("runs")

        before = RunTimeQuantiles.from_dict(d.pop("before"))

        after = RunTimeQuantiles.from_dict(d.pop("after"))

        node_types = cast(list[str], d.pop("node_types"))

        run_time_what_if = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            runs=runs,
            before=before,
            after=after,
            node_types=node_types,
        )

        return run_time_what_if
