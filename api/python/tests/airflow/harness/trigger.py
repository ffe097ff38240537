"""Starts DAG runs: python -m harness.trigger '[{"dag_id": …, "run_id": …, "conf": {…}}]'.

It is a separate process because it imports Airflow; one process starts many runs because the import takes seconds.
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
