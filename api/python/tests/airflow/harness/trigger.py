"""Starts DAG runs: python -m harness.trigger '[{"dag_id": …, "run_id": …, "conf": {…}}]'.

harness.commands runs it in a process that has imported Airflow; one call starts many runs.
"""

from __future__ import annotations

import json
import sys

from airflow.api.client import get_current_api_client


def main() -> None:
    client = get_current_api_client()
    for run in json.loads(sys.argv[1]):
        client.trigger_dag(dag_id=run["dag_id"], run_id=run["run_id"], conf=run["conf"])


if __name__ == "__main__":
    main()
