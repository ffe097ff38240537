"""Tests of the connection: its address, its links to receipts and its test button."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_loadaware.hooks import LoadawareHook, base_url

from .conftest import ScriptedServer, connect


@pytest.mark.parametrize(
    ("host", "port", "schema", "want"),
    [
        ("loadaware", 8080, None, "http://loadaware:8080"),
        ("loadaware", 443, None, "https://loadaware:443"),
        ("loadaware", None, "https", "https://loadaware"),
        ("https://loadaware/", 8443, "http", "https://loadaware:8443"),
        ("http://loadaware:8080", 9, None, "http://loadaware:8080"),
        ("[::1]", 8080, None, "http://[::1]:8080"),
        ("https://example.org/sizes/", 8443, None, "https://example.org:8443/sizes"),
    ],
)
def test_base_url_of_a_connection(host: str, port: Any, schema: Any, want: str) -> None:
    assert base_url(SimpleNamespace(host=host, port=port, schema=schema)) == want


def test_a_connection_without_a_host_is_rejected() -> None:
    with pytest.raises(ValueError, match="no host"):
        base_url(SimpleNamespace(host="", port=1, schema=None))


def test_hooks_of_a_process_share_a_service(server: ScriptedServer) -> None:
    assert LoadawareHook().get_conn() is LoadawareHook().get_conn()


def test_receipts_are_at_the_host_or_at_ui_url(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LoadawareHook().receipt_url("p-1") == f"{server.url}/ui/try?prediction_id=p-1"
    connect(monkeypatch, server.port, extra={"ui_url": "https://ui.example.org/"})
    assert LoadawareHook().receipt_url("p-1") == "https://ui.example.org/ui/try?prediction_id=p-1"


def test_the_test_button_shows_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LoadawareHook().test_connection()[0] is False
    connect(monkeypatch, 1)
    passed, message = LoadawareHook().test_connection()
    assert not passed and "127.0.0.1:1" in message
