"""Read an export of loadaware in the layout of MLflow's file store with MLflow itself, for internal/experiment.

    pip install mlflow-skinny==2.22.5
    MLFLOW_EXPORT=/tmp/mlruns go test -count=1 -run TestMLflowReadsAnExport ./internal/experiment
    python open.py /tmp/mlruns > opened.json

The output contains the experiments, the runs with their params, tags, metrics, metric histories and
artifacts, the best runs of one family, and the warnings of MLflow. MLflow 3 only maintains this
layout: with mlflow-skinny==3.17.2 and MLFLOW_ALLOW_FILE_STORE=true only the version in the output
differs.
"""
import json
import logging
import os
import sys

import mlflow
from mlflow.entities import ViewType

warned = []
handler = logging.Handler()
handler.emit = lambda record: warned.append(record.getMessage())
logging.getLogger().addHandler(handler)
logging.getLogger("mlflow").addHandler(handler)

root = os.path.abspath(sys.argv[1])
client = mlflow.MlflowClient(tracking_uri="file:" + root)


def artifacts(run_id, path=None):
    for item in client.list_artifacts(run_id, path):
        if item.is_dir:
            yield from artifacts(run_id, item.path)
        else:
            with open(client.download_artifacts(run_id, item.path), "rb") as file:
                yield item.path, file.read().hex()


opened = {"mlflow": mlflow.__version__, "experiments": []}
for experiment in client.search_experiments(view_type=ViewType.ALL):
    runs = []
    for run in client.search_runs([experiment.experiment_id], run_view_type=ViewType.ALL):
        runs.append({
            "id": run.info.run_id, "name": run.info.run_name, "status": run.info.status,
            "start": run.info.start_time, "end": run.info.end_time,
            "params": run.data.params, "tags": run.data.tags, "metrics": run.data.metrics,
            "history": {key: [[m.timestamp, m.value, m.step] for m in client.get_metric_history(run.info.run_id, key)] for key in run.data.metrics},
            "artifacts": dict(artifacts(run.info.run_id)),
        })
    runs.sort(key=lambda r: r["id"])
    opened["experiments"].append({"id": experiment.experiment_id, "name": experiment.name, "stage": experiment.lifecycle_stage, "runs": runs})

# A likely first query of a user: the runs of one family, the best first.
best = client.search_runs([e["id"] for e in opened["experiments"]], "params.family = 'final'", order_by=["metrics.u_score_mean ASC"])
opened["best"] = [run.info.run_id for run in best]
opened["warned"] = warned
json.dump(opened, sys.stdout, indent=1, sort_keys=True)
print()
