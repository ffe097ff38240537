from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.newest_run import NewestRun
    from ..models.remaining_time_type_0 import RemainingTimeType0
    from ..models.run_time_histogram import RunTimeHistogram
    from ..models.shape_membership import ShapeMembership
    from ..models.suggested_timeout import SuggestedTimeout


T = TypeVar("T", bound="RunTime")


@_attrs_define
class RunTime:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        runs (int): Number of runs that the model predicted before it learned them; only the newest 500 count.
        median_seconds (float):
        p95_seconds (float):
        p99_seconds (float):
        longest_seconds (float): Run time of the longest success among the newest 200 tries.
        execution_timeout (SuggestedTimeout):
        timeout_probability (float | None): Probability of a run longer than the timeout in use; null if the timeout is
            unknown.
        remaining (None | RemainingTimeType0): Remaining time of a try that has run for `elapsed_seconds`. It is null if
            `elapsed_seconds` is missing or 0; in `POST /phase`, if there is no plan or no learned run took as long.
        newest (NewestRun):
        drift (float): Median quotient of two ratios of run time to the prediction of the present model: that of one of
            the newest 20 successes, and that of an earlier success among the newest 200 tries (Hodges-Lehmann estimate). It
            is 1 with fewer than 40 successes.
        histogram (RunTimeHistogram): Histogram of the ratios of run times to the predictions of the models. The first
            bin starts at 0; the last one has no upper end.
        shapes (list[ShapeMembership]): Shapes of the namespace, the most probable one first; empty before shapes are
            learned.
        no_shape_probability (float): Probability that the task has none of these shapes.
    """

    namespace: str
    dag_id: str
    task_id: str
    runs: int
    median_seconds: float
    p95_seconds: float
    p99_seconds: float
    longest_seconds: float
    execution_timeout: SuggestedTimeout
    timeout_probability: float | None
    remaining: None | RemainingTimeType0
    newest: NewestRun
    drift: float
    histogram: RunTimeHistogram
    shapes: list[ShapeMembership]
    no_shape_probability: float

    def to_dict(self) -> dict[str, Any]:
        from ..models.remaining_time_type_0 import RemainingTimeType0

        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        runs = self.runs

        median_seconds = self.median_seconds

        p95_seconds = self.p95_seconds

        p99_seconds = self.p99_seconds

        longest_seconds = self.longest_seconds

        execution_timeout = self.execution_timeout.to_dict()

        timeout_probability: float | None
        timeout_probability = self.timeout_probability

        remaining: dict[str, Any] | None
        if isinstance(self.remaining, RemainingTimeType0):
            remaining = self.remaining.to_dict()
        else:
            remaining = self.remaining

        newest = self.newest.to_dict()

        drift = self.drift

        histogram = self.histogram.to_dict()

        shapes = []
        for shapes_item_data in self.shapes:
            shapes_item = shapes_item_data.to_dict()
            shapes.append(shapes_item)

        no_shape_probability = self.no_shape_probability

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "runs": runs,
                "median_seconds": median_seconds,
                "p95_seconds": p95_seconds,
                "p99_seconds": p99_seconds,
                "longest_seconds": longest_seconds,
                "execution_timeout": execution_timeout,
                "timeout_probability": timeout_probability,
                "remaining": remaining,
                "newest": newest,
                "drift": drift,
                "histogram": histogram,
                "shapes": shapes,
                "no_shape_probability": no_shape_probability,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.newest_run import NewestRun
        from ..models.remaining_time_type_0 import RemainingTimeType0
        from ..models.run_time_histogram import RunTimeHistogram
        from ..models.shape_membership import ShapeMembership
        from ..models.suggested_timeout import SuggestedTimeout

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        runs = d.pop("runs")

        median_seconds = d.pop("median_seconds")

        p95_seconds = d.pop("p95_seconds")

        p99_seconds = d.pop("p99_seconds")

        longest_seconds = d.pop("longest_seconds")

        execution_timeout = SuggestedTimeout.from_dict(d.pop("execution_timeout"))

        def _parse_timeout_probability(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        timeout_probability = _parse_timeout_probability(d.pop("timeout_probability"))

        def _parse_remaining(data: object) -> None | RemainingTimeType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_remaining_time_type_0 = RemainingTimeType0.from_dict(data)

                return componentsschemas_remaining_time_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RemainingTimeType0, data)

        remaining = _parse_remaining(d.pop("remaining"))

        newest = NewestRun.from_dict(d.pop("newest"))

        drift = d.pop("drift")

        histogram = RunTimeHistogram.from_dict(d.pop("histogram"))

        shapes = []
        _shapes = d.pop("shapes")
        for shapes_item_data in _shapes:
            shapes_item = ShapeMembership.from_dict(shapes_item_data)

            shapes.append(shapes_item)

        no_shape_probability = d.pop("no_shape_probability")

        run_time = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            runs=runs,
            median_seconds=median_seconds,
            p95_seconds=p95_seconds,
            p99_seconds=p99_seconds,
            longest_seconds=longest_seconds,
            execution_timeout=execution_timeout,
            timeout_probability=timeout_probability,
            remaining=remaining,
            newest=newest,
            drift=drift,
            histogram=histogram,
            shapes=shapes,
            no_shape_probability=no_shape_probability,
        )

        return run_time
