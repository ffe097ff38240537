"""Add predictions, reports and OOM kills to the demo history through the API, as Airflow would. Fixed seeds determine them.

python3 fill.py URL [TOKEN]
"""

import csv
import datetime
import gzip
import json
import pathlib
import random
import sys
import urllib.request

DEMO = pathlib.Path(__file__).parents[2] / "testdata/demo/pricing.csv.gz"
LATER = datetime.timedelta(days=98)  # about the length of the demo history
RUNS = 40  # of each of the six tasks
MAX_TRIES = 4
LONG_TASK = "predict_demand"  # its runs of ten minutes or more have two phases
STEP = 15  # seconds between two samples of a detailed series

# The upstream tasks of each task of the DAG.
STRUCTURE = {
    "extract_sales": [],
    "clean_sales": ["extract_sales"],
    "build_features": ["clean_sales"],
    "predict_demand": ["build_features"],
    "simulate_discounts": ["predict_demand"],
    "publish_prices": ["predict_demand", "simulate_discounts"],
}


def in_phases(peak: float, seconds: float, noise: random.Random) -> dict:
    """Return the usage of a run that needs little memory at first, and about its peak in the last 30 to 40 %."""
    steps = int(seconds / STEP)
    first = int(steps * noise.uniform(0.6, 0.7))
    memory = [int(peak * noise.uniform(0.1, 0.12)) for _ in range(first)] + [int(peak * noise.uniform(0.95, 1)) for _ in range(steps - first)]
    return {"step_seconds": STEP, "memory_bytes": memory, "cpu_cores": [0.5] * first + [1.0] * (steps - first)}


def fill(base: str, token: str = "") -> list[dict]:
    """Register the structure of the DAG and a campaign. Predict and report the newest runs of the demo again, with later times and other peaks.

    Return the keys (DAG, task and run) of the runs whose first try was killed.
    """
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})

    def call(path: str, body: dict, method: str = "POST") -> dict:
        request = urllib.request.Request(base + path, json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    tasks = [{"task_id": task, "upstream": upstream} for task, upstream in STRUCTURE.items()]
    call("/dags/pricing/structure", {"tasks": tasks}, "PUT")
    call("/campaigns", {"name": "spring", "dag_id": "pricing", "conf": {"output": "s3://sandbox/"}, "budget": {"runs": 10}})
    archived = [{"scenario": f"amer_{n}", "execution_date": f"2020-0{n}-01T00:00:00Z"} for n in range(1, 5)]
    call("/campaigns/1/runs", {"runs": archived})
    with gzip.open(DEMO, "rt") as demo:
        rows = list(csv.DictReader(demo))[-6 * RUNS :]
    noise, phase_noise, killed = random.Random(7), random.Random(8), []
    for row in rows:
        ended = datetime.datetime.fromisoformat(row["started_at"].replace("Z", "+00:00")) + LATER
        seconds, peak = float(row["duration_s"]), float(row["memory_max_bytes"]) * noise.lognormvariate(0.1, 0.15)
        features = {name[8:]: value for name, value in row.items() if name.startswith("feature.") and value}
        features |= {name: float(features[name]) for name in ("product_count", "store_count")}
        key = {"dag_id": row["dag_id"], "task_id": row["task_id"], "run_id": "again__" + row["run_id"]}
        body = key | {"features": features, "requested": {"memory_bytes": int(row["memory_requested_bytes"])}}
        answer = call("/predict", body)
        granted = answer["memory"]["limit_bytes"]
        for number in range(1, MAX_TRIES + 1):
            ended += datetime.timedelta(seconds=seconds)
            attempt = key | {"try_number": number}
            measured = {"duration_seconds": seconds, "ended_at": ended.isoformat()}
            report = attempt | measured | {"allocated": {"memory_bytes": granted}}
            if peak <= granted:
                shape = [int(peak * (0.3 + 0.7 * step / 19)) for step in range(20)]
                usage = {"step_seconds": seconds / 20, "memory_bytes": shape}
                series = {"usage_series": usage}
                if row["task_id"] == LONG_TASK and seconds >= 600:
                    series["detailed_series"] = in_phases(peak, seconds, phase_noise)
                call("/observe", report | series | {"outcome": "success", "memory_max_bytes": int(peak)})
                break
            call("/observe", report | {"outcome": "oom_killed"})
            if number == 1:
                killed.append(key)
            lift = call("/retry-lift", attempt | {"reason": "oom_killed", "failed": {"memory_bytes": granted}})
            if not lift["retry"]:
                break
            granted = lift["memory"]["limit_bytes"]
    return killed


if __name__ == "__main__":
    print(f"the first tries of {len(fill(*sys.argv[1:]))} runs were killed")
