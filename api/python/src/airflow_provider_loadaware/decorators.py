"""@task.sized_kubernetes: @task.kubernetes with the arguments of SizerMixin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow.providers.cncf.kubernetes.decorators.kubernetes import _KubernetesDecoratedOperator

try:
    from airflow.sdk.bases.decorator import task_decorator_factory
except ImportError:
    from airflow.decorators.base import task_decorator_factory

from airflow_provider_loadaware.operators import SizerMixin


class SizedKubernetesDecoratedOperator(SizerMixin, _KubernetesDecoratedOperator):
    """Runs a Python function in a sized pod."""

    custom_operator_name = "@task.sized_kubernetes"


def sized_kubernetes_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> Any:
    """Turn a function into a task, as @task.kubernetes does."""
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=SizedKubernetesDecoratedOperator,
        **kwargs,
    )
