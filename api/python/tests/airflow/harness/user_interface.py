"""Serves Airflow's own pages with a run that loadaware sized: python -m harness.user_interface.

It writes one line of JSON with Airflow's major version and the addresses of the pages and of loadaware, and serves
until its input ends. scripts/dashboard/airflow.py opens the pages in a browser.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from fake_kubernetes import Cluster, serve, write_kubeconfig
from harness.deployment import MAJOR, Airflow
from harness.environment import connection, folder
from harness.loadaware import Loadaware
from harness.waiting import wait_for
from scenarios import GIB, training_runs

DAG_ID, TASK_ID, RUN_ID = "sized", "work", "first"
NEED = 3 * GIB  # more than the first grant

# Without this role, Airflow 2 asks for a user and a password.
EVERYBODY_IS_ADMIN = 'AUTH_ROLE_PUBLIC = "Admin"\nWTF_CSRF_ENABLED = True\n'


def serve_pages(path: Path, stack: ExitStack) -> dict[str, str]:
    """Start everything, wait for the end of a run that was killed at least once, and return the addresses."""
    server = Loadaware(path, frame_ancestors="http://127.0.0.1:*")
    stack.callback(server.stop)
    server.learn(DAG_ID, TASK_ID, training_runs())
    home = path / "airflow"
    home.mkdir()
    airflow = Airflow(
        home,
        {
            "KUBECONFIG": str(write_kubeconfig(path / "kubeconfig.json", stack.enter_context(serve(Cluster())))),
            "AIRFLOW_CONN_LOADAWARE_DEFAULT": connection(server.url),
            "AIRFLOW__LOADAWARE__STATE_DIR": str(path / "state"),
            "AIRFLOW__LOADAWARE__UI_URL": server.url,
            "AIRFLOW__WEBSERVER__WEB_SERVER_MASTER_TIMEOUT": "600",
        },
    )
    (home / "webserver_config.py").write_text(EVERYBODY_IS_ADMIN)
    stack.callback(airflow.stop)
    airflow.start(with_ui=True)
    try:
        airflow.wait_for_dags({DAG_ID})
        airflow.trigger((DAG_ID, RUN_ID, {"need": NEED}))
        done = airflow.wait(DAG_ID, RUN_ID)[TASK_ID, -1]
        assert done.state == "success" and done.tries > 1, done
        wait_for("Airflow's web UI", lambda: _answers(airflow.url), seconds=600, every=0.5)
    except BaseException:
        print(airflow.output(), file=sys.stderr)
        raise
    return {"version": str(MAJOR), "airflow": airflow.url, "loadaware": server.url}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C, so that everything stops
    addresses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keep other output out of the addresses
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        print(json.dumps(serve_pages(path, stack)), file=addresses, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
