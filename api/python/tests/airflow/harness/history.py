"""An Airflow with finished runs, whose REST API a read-only user `reader` may use."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.deployment import TESTS, Airflow
from harness.waiting import wait_for

PASSWORD = "a password of the tests"


@contextmanager
def serve_history(path: Path, runs: int) -> Iterator[str]:
    home = path / "airflow"
    home.mkdir()
    passwords = path / "passwords.json"
    passwords.write_text(json.dumps({"reader": PASSWORD}))
    settings = {
        "CORE__DAGS_FOLDER": str(TESTS / "history"),
        "API__AUTH_BACKENDS": "airflow.providers.fab.auth_manager.api.auth.backend.basic_auth",
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "CORE__SIMPLE_AUTH_MANAGER_USERS": "reader:viewer",
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "FAB__UPDATE_FAB_PERMS": "False",  # otherwise hundreds of commits at every start
        "WEBSERVER__WEB_SERVER_MASTER_TIMEOUT": "600",
    }
    airflow = Airflow(home, {f"AIRFLOW__{name}": value for name, value in settings.items()})
    try:
        airflow.seed_history(runs, PASSWORD)
        url = airflow.serve_api()
        wait_for("Airflow's API", lambda: _answers(url), seconds=600, every=0.5)
        yield url
    except BaseException:
        print(airflow.output())
        raise
    finally:
        airflow.stop()


def _answers(url: str) -> bool:
    for path in ("/api/v2/version", "/api/v1/version"):
        try:
            with urllib.request.urlopen(url + path, timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:
            continue
    return False
