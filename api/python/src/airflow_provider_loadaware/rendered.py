"""The rendered `container_resources` that Airflow shows for a try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_loadaware._compat import AIRFLOW_3


def publish(operator: Any, resources: Any, context: Mapping[str, Any]) -> None:
    """Replace the rendered template field with `resources`. Exceptions of Airflow propagate."""
    operator.container_resources = resources
    if AIRFLOW_3:
        # With this attribute, Airflow 3 stores the fields again at the end of the try.
        operator.overwrite_rtif_after_execution = True
        return
    from airflow.models.renderedtifields import RenderedTaskInstanceFields

    RenderedTaskInstanceFields(ti=context["ti"], render_templates=False).write()
