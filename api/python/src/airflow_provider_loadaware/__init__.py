"""Right-sized memory and CPU for Airflow's Kubernetes tasks.

Importing this package imports no Airflow: Airflow itself reads `get_provider_info` before it is ready.
"""

from __future__ import annotations

from typing import Any

__version__ = "1.0.0"


def get_provider_info() -> dict[str, Any]:
    """What Airflow's provider manager lists of this package."""
    return {
        "package-name": "airflow-provider-loadaware",
        "name": "loadaware",
        "description": "Right-sized memory and CPU for Kubernetes tasks.",
        "versions": [__version__],
    }
