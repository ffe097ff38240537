"""The connection type `loadaware`: host, token as the password, and these extras:

{"verify": false}                 skip the check of the server's certificate
{"ca_file": "/etc/ssl/own.pem"}   CA bundle that verifies the certificate
{"namespace": "emea"}             distinguishes Airflow deployments
{"ui_url": "https://…"}           base URL of the links to the dashboard, if it is not the host
{"send_metadata": false}          send no operator, image, owner and so on of the tasks
"""

from __future__ import annotations

import os
import ssl
from typing import Any

from airflow_provider_loadaware import settings
from airflow_provider_loadaware._compat import BaseHook
from airflow_provider_loadaware.service import Deadline, Service

_services: dict[tuple[Any, ...], Service] = {}


class LoadawareHook(BaseHook):
    """Opens the connection `loadaware_conn_id`."""

    conn_name_attr = "loadaware_conn_id"
    default_conn_name = "loadaware_default"
    conn_type = "loadaware"
    hook_name = "loadaware"

    def __init__(self, loadaware_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.loadaware_conn_id = loadaware_conn_id
        self._connection: Any = None

    @property
    def connection(self) -> Any:
        """Airflow's Connection, read once. Raises AirflowNotFoundException if it does not exist."""
        if self._connection is None:
            self._connection = self.get_connection(self.loadaware_conn_id)
        return self._connection

    @property
    def extras(self) -> dict[str, Any]:
        """The extras without the empty fields of the form."""
        return {k: v for k, v in self.connection.extra_dejson.items() if v not in (None, "")}

    def get_conn(self) -> Service:
        """Return the service. In a process, all hooks with equal settings share one object and its open connections."""
        url, token, extras = base_url(self.connection), self.connection.password, self.extras
        # The key contains the process id, because a forked process must not use the sockets of its parent.
        key = (os.getpid(), url, token, str(sorted(extras.items())))
        if key not in _services:
            _services[key] = Service(url, token, verify=_verify(extras), state=settings.state_folder())
        return _services[key]

    def receipt_url(self, prediction_id: str) -> str:
        """Return the address of the page that explains a prediction."""
        root = str(self.extras.get("ui_url") or base_url(self.connection)).rstrip("/")
        return f"{root}/ui/try?prediction_id={prediction_id}"

    def test_connection(self) -> tuple[bool, str]:
        """Check the connection; the test button of the connection form calls this."""
        try:
            ready = self.get_conn().check(Deadline())
        except Exception as error:  # noqa: BLE001 - every error is a result of the test
            return False, str(error)
        return True, f"The server is {ready.status}; active models: {ready.models}; storing of reports: {ready.observe}"

    @staticmethod
    def get_ui_field_behaviour() -> dict[str, Any]:
        """Return the connection form for the versions of Airflow that do not take it from get_provider_info."""
        return {
            "hidden_fields": ["login"],
            "relabeling": {"password": "Token", "schema": "Scheme"},
            "placeholders": {"host": "loadaware.example.org", "port": "8080", "schema": "http or https"},
        }


def base_url(connection: Any) -> str:
    """Return the base URL of a Connection, whose host may include a scheme. Raises ValueError without a host."""
    host = (connection.host or "").strip().rstrip("/")
    if not host:
        raise ValueError("the connection has no host; set it, for example to loadaware.example.org")
    scheme, separator, rest = host.rpartition("://")
    if not separator:
        scheme = connection.schema or ("https" if connection.port == 443 else "http")
    name, slash, path = rest.partition("/")
    port = f":{connection.port}" if connection.port and ":" not in name.rpartition("]")[2] else ""
    return f"{scheme}://{name}{port}{slash}{path}"


def _verify(extras: dict[str, Any]) -> ssl.SSLContext | bool:
    if str(extras.get("verify", True)).lower() in ("false", "0", "no"):
        return False
    # Without ca_file, the default context also reads SSL_CERT_FILE, which users of a private CA expect.
    return ssl.create_default_context(cafile=extras.get("ca_file"))
