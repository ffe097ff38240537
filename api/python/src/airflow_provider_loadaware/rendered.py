"""What Airflow shows as the rendered `container_resources` of a try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_loadaware._compat import AIRFLOW_3


def publish(operator: Any, resources: Any, context: Mapping[str, Any]) -> None:
    """Shows `resources` in place of what the template rendered to. Raises what Airflow raises."""
    operator.container_resources = resources
    if AIRFLOW_3:
        # Airflow 3 writes the fields again at the end of a try that asks for it.
        operator.overwrite_rtif_after_execution = True
        return
    from airflow.models.renderedtifields import RenderedTaskInstanceFields

    RenderedTaskInstanceFields(ti=context["ti"], render_templates=False).write()
