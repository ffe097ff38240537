"""Macros for templates.

    arguments=["{{ macros.loadaware.xmx(0.8) }}", "-jar", "job.jar"]

The grant is not known yet when templates are rendered. So a macro writes a reference to a variable of the
container, which Kubernetes fills in when it starts the program: "-Xmx$(LOADAWARE_MEMORY_MIB_80)m".
"""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin


def mib(share: float = 1.0) -> str:
    """A share of the granted memory in MiB, for the command, the arguments or the environment of the task."""
    percent = min(100, max(1, round(share * 100)))
    return f"$(LOADAWARE_MEMORY_MIB_{percent})"


def xmx(share: float = 0.8) -> str:
    """The heap flag of a Java program that may use a share of the granted memory."""
    return f"-Xmx{mib(share)}m"


class LoadawarePlugin(AirflowPlugin):
    """Makes them known as `macros.loadaware`."""

    name = "loadaware"
    macros = [mib, xmx]  # noqa: RUF012 - Airflow's own attribute
