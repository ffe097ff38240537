"""Pod labels into which Airflow converts ids, as the reference for internal/source/prometheus.

    pip install apache-airflow==3.3.2 apache-airflow-providers-cncf-kubernetes==10.25.0 && python labels.py > labels.json

Airflow 2.11.2 with the same provider gives the same labels.
"""

import json
import random
from importlib.metadata import version

from airflow.providers.cncf.kubernetes.pod_generator import make_safe_label_value

KNOWN = [
    "etl",
    "pricing",
    "predict_demand",
    "group.task-1",
    "scheduled__2026-01-03T02:00:00+00:00",
    "manual__2026-01-03T02:00:00.123456+00:00",
    "manual__2026-01-03T02:00:00.123456+00:00_aB3dE6gH",
    "backfill__2026-01-03T00:00:00+00:00",
    "dataset_triggered__2026-01-03T02:00:00+00:00",
    "emea__2020-01-03__017",
    "",
    "-",
    "***",
    "_leading",
    "trailing_",
    "-both-",
    "a-é",
    "a é-",
    "a-éb",
    "größe",
    "日本",
    "日本-2026",
    "line\n",
    "dash-\n",
    "a" * 62,
    "a" * 63,
    "a" * 64,
    "a" * 250,
    "a" * 52 + "." + "b" * 40,
    "a" * 52 + "é" + "b" * 40,
    "a" * 53 + "-" * 20 + "b",
    "a/b/c",
    "with space",
]

ALPHABET = "abzAZ019-_.:+ /é\n"


def main():
    rng = random.Random(7)
    drawn = ["".join(rng.choices(ALPHABET, k=rng.randrange(1, 90))) for _ in range(300)]
    answers = [{"id": i, "label": make_safe_label_value(i)} for i in KNOWN + drawn]
    made_by = {p: version(p) for p in ("apache-airflow", "apache-airflow-providers-cncf-kubernetes")}
    print(json.dumps({"made_by": made_by, "labels": answers}, indent=0))


if __name__ == "__main__":
    main()
