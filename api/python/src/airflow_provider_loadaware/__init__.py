"""Right-sized memory and CPU for Airflow's Kubernetes tasks.

Importing this package does not import Airflow, because Airflow reads `get_provider_info` while Airflow itself starts.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

__version__ = version("airflow-provider-loadaware")


def get_provider_info() -> dict[str, Any]:
    """Return the metadata that Airflow's provider manager reads."""
    return {
        "package-name": "airflow-provider-loadaware",
        "name": "loadaware",
        "description": "Right-sized memory and CPU for Kubernetes tasks.",
        "versions": [__version__],
        "connection-types": [
            {
                "connection-type": "loadaware",
                "hook-class-name": "airflow_provider_loadaware.hooks.LoadawareHook",
                "hook-name": "loadaware",
                "ui-field-behaviour": {
                    "hidden-fields": ["login"],
                    "relabeling": {"password": "Token", "schema": "Scheme"},
                    "placeholders": {
                        "host": "loadaware.example.org",
                        "port": "8080",
                        "schema": "http or https",
                    },
                },
                "conn-fields": {
                    "verify": {
                        "label": "Verify TLS",
                        "description": "Verify the server's certificate.",
                        "schema": {"type": ["boolean", "null"], "default": True},
                    },
                    "ca_file": {
                        "label": "CA file",
                        "description": "CA bundle that verifies the certificate.",
                        "schema": {"type": ["string", "null"]},
                    },
                    "namespace": {
                        "label": "Namespace",
                        "description": "Distinguishes Airflow deployments.",
                        "schema": {"type": ["string", "null"]},
                    },
                    "ui_url": {
                        "label": "UI address",
                        "description": "Base URL of the links to the dashboard, if it is not the host.",
                        "schema": {"type": ["string", "null"]},
                    },
                    "send_metadata": {
                        "label": "Send metadata",
                        "description": "Send operator, image, owner and so on, to size tasks without history.",
                        "schema": {"type": ["boolean", "null"], "default": True},
                    },
                },
            }
        ],
        "extra-links": ["airflow_provider_loadaware.links.ReceiptLink"],
        "task-decorators": [
            {
                "name": "sized_kubernetes",
                "class-name": "airflow_provider_loadaware.decorators.sized_kubernetes_task",
            }
        ],
    }
