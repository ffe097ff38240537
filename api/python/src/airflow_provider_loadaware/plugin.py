"""Macros for templates, and the views of the dashboard in Airflow.

    arguments=["{{ macros.loadaware.xmx(0.8) }}", "-jar", "job.jar"]

Templates are rendered before the grant is known. A macro therefore writes a reference to a variable of the container,
which Kubernetes resolves when it starts the program: "-Xmx$(LOADAWARE_MEMORY_MIB_80)m".
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_loadaware import settings

log = logging.getLogger(__name__)


def mib(share: float = 1.0) -> str:
    """Return a reference to a share of the memory limit in MiB, for command, arguments or environment."""
    percent = min(100, max(1, round(share * 100)))
    return f"$(LOADAWARE_MEMORY_MIB_{percent})"


def xmx(share: float = 0.8) -> str:
    """Return the flag that limits the heap of a Java program to a share of the memory limit."""
    return f"-Xmx{mib(share)}m"


def views(ui_url: str, namespace: str) -> list[dict[str, Any]]:
    """Return the pages that Airflow 3.1 and later show: the overview, and a try beside its task instance.

    The list is empty if `ui_url` is not an http or https address.
    """
    if not ui_url.startswith(("http://", "https://")):
        return []
    pages = ui_url.rstrip("/") + "/ui"
    task = f"namespace={quote(namespace)}&dag_id={{DAG_ID}}&task_id={{TASK_ID}}"
    return [
        {
            "name": "loadaware",
            "href": f"{pages}/",
            "destination": "nav",
            "url_route": "loadaware",
            "category": "browse",
        },
        {
            "name": "Memory",
            "href": f"{pages}/try?{task}&run_id={{RUN_ID}}&map_index={{MAP_INDEX}}&frame=1",
            "destination": "task_instance",
            "url_route": "loadaware-try",
        },
    ]


class LazyViews:
    """The attribute `external_views`, computed when Airflow reads it.

    Every process of Airflow loads the plugin, but only the API server needs the views and thus the connection.
    """

    def __init__(self) -> None:
        self._views: list[dict[str, Any]] | None = None

    def __get__(self, instance: object, owner: type | None = None) -> list[dict[str, Any]]:
        """Return the views. Once computed, the list stays the same object, because Airflow removes views from it."""
        if self._views is not None:
            return self._views
        ui_url, namespace = settings.get("ui_url"), settings.get("namespace")
        if ui_url and not namespace:
            try:
                namespace = _namespace_of_connection()
            except Exception as error:  # noqa: BLE001 - an error here would hide the views of all plugins
                log.info("loadaware: no connection for the views (%s: %s)", type(error).__name__, error)
                return views(ui_url, "default")  # not kept: the connection may be readable later
        self._views = views(ui_url, namespace)
        return self._views


def _namespace_of_connection() -> str:
    from airflow_provider_loadaware.hooks import LoadawareHook

    hook = LoadawareHook(settings.get("conn_id", LoadawareHook.default_conn_name))
    return str(hook.extras.get("namespace") or "default")


class LoadawarePlugin(AirflowPlugin):
    """Registers the macros as `macros.loadaware`, and the views if `[loadaware] ui_url` is set."""

    name = "loadaware"
    macros = [mib, xmx]  # noqa: RUF012 - Airflow's own attribute
    external_views = LazyViews()
