"""Macros for templates.

    arguments=["{{ macros.loadaware.xmx(0.8) }}", "-jar", "job.jar"]

Templates are rendered before the grant is known. A macro therefore writes a reference to a container variable,
which Kubernetes resolves when it starts the program: "-Xmx$(LOADAWARE_MEMORY_MIB_80)m".
"""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin


def mib(share: float = 1.0) -> str:
    """Return a reference to a share of the granted memory in MiB, for command, arguments or environment."""
    percent = min(100, max(1, round(share * 100)))
    return f"$(LOADAWARE_MEMORY_MIB_{percent})"


def xmx(share: float = 0.8) -> str:
    """Return the heap flag of a Java program that may use a share of the granted memory."""
    return f"-Xmx{mib(share)}m"


class LoadawarePlugin(AirflowPlugin):
    """Registers the macros as `macros.loadaware`."""

    name = "loadaware"
    macros = [mib, xmx]  # noqa: RUF012 - Airflow's own attribute
