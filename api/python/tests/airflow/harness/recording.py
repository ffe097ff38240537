"""Records answers of a real Airflow for the tests of internal/source/airflow: python -m harness.recording FILE.

The file contains a list of {"method", "path", "body", "status", "answer"}; a request without credentials has "as" in
place of "body". Ids, versions and parsing times differ between recordings.

    root=$PWD
    cd api/python/tests/airflow
    for v in 2.11 3; do
        answers=$root/internal/source/airflow/testdata/airflow-$v.json
        PYTHONPATH=. $root/.cache/airflow-$v/bin/python -m harness.recording $answers
    done
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from harness.deployment import MAJOR
from harness.environment import folder
from harness.history import PASSWORD, serve_history

Json = dict[str, Any]

RUNS = 12
API = "/api/v2" if MAJOR >= 3 else "/api/v1"
SINCE = "1970-01-01T00:00:00+00:00"


def requests() -> list[tuple[str, str, Json | None]]:
    """Return the requests of internal/source/airflow, including pages and missing objects."""
    runs: Json = {"states": ["success", "failed"], "order_by": "end_date", "page_limit": 100}
    listed: list[tuple[str, str, Json | None]] = [
        ("GET", "/api/v2/version", None),
        ("GET", "/api/v1/version", None),
        ("GET", f"{API}/dags?limit=1", None),
        ("GET", f"{API}/dags/history/tasks", None),
        ("GET", f"{API}/dags/gone/tasks", None),
        ("GET", f"{API}/dags/history", None),
        ("GET", f"{API}/dags/gone", None),
        ("GET", f"{API}/dags/history/dagRuns/manual__3/taskInstances/work/tries", None),
        ("GET", f"{API}/dags/history/dagRuns/manual__3/taskInstances/part/1/tries", None),
        ("POST", f"{API}/dags/~/dagRuns/list", {**runs, "end_date_gte": SINCE, "page_offset": 0}),
    ]
    for offset in (0, 4):
        of = {"dag_ids": ["history"], "dag_run_ids": ["manual__3", "manual__9"], "page_limit": 4, "page_offset": offset}
        listed.append(("POST", f"{API}/dags/~/dagRuns/~/taskInstances/list", of))
    return listed


def send(url: str, method: str, path: str, body: Json | None, headers: dict[str, str]) -> tuple[int, Any]:
    request = urllib.request.Request(url + path, method=method, headers=headers)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, "<not JSON>"


def credentials(url: str) -> dict[str, str]:
    if MAJOR < 3:
        return {"Authorization": "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()}
    _, answer = send(url, "POST", "/auth/token", {"username": "reader", "password": PASSWORD}, {})
    return {"Authorization": "Bearer " + answer["access_token"]}


def main() -> None:
    with folder() as home, serve_history(home, RUNS) as url:
        headers = credentials(url)
        lines = []
        for method, path, body in requests():
            status, answer = send(url, method, path, body, headers)
            lines.append({"method": method, "path": path, "body": body, "status": status, "answer": _redact(answer)})
        status, answer = send(url, "GET", f"{API}/dags?limit=1", None, {})
        anonymous = "nobody"  # codespell:ignore nobody - the testdata uses this name
        request = {"method": "GET", "path": f"{API}/dags?limit=1", "as": anonymous}
        lines.append({**request, "status": status, "answer": answer})
    Path(sys.argv[1]).write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")


def _redact(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {k: "…" if k in ("fileloc", "file_token") else _redact(v) for k, v in answer.items()}
    return [_redact(v) for v in answer] if isinstance(answer, list) else answer


if __name__ == "__main__":
    main()
