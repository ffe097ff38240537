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
                        "description": "Whether the server's certificate is checked.",
                        "schema": {"type": ["boolean", "null"], "default": True},
                    },
                    "ca_file": {
                        "label": "CA file",
                        "description": "Authority that the certificate is checked against.",
                        "schema": {"type": ["string", "null"]},
                    },
                    "namespace": {
                        "label": "Namespace",
                        "description": "Tells Airflow deployments apart.",
                        "schema": {"type": ["string", "null"]},
                    },
                    "ui_url": {
                        "label": "Address for people",
                        "description": "Where receipts are looked at, if not at the host.",
                        "schema": {"type": ["string", "null"]},
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
