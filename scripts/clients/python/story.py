"""Runs the scenario of docs/clients.md with the Python client of openapi-generator."""

import math
import os
import time
from datetime import datetime

from openapi_client import (
    ApiClient,
    ApiException,
    AskApi,
    Configuration,
    FailedMemory,
    LiftRequest,
    Mode,
    Observation,
    Outcome,
    PolicyRequest,
    PredictBatchRequest,
    PredictRequest,
    Prediction,
    ItemError,
    Problem,
    Resources,
    ServiceApi,
    Source,
    TasksApi,
    TellApi,
)
from openapi_client.exceptions import NotFoundException

GIB = 1 << 30
DAG, TASK = "clients", os.environ["STORY_TASK"]  # set by run.sh: a task that only this client uses
FEATURES = {"product_count": 1253, "discount": 0.25, "region": "emea", "promo": True, "sale_end": "2020-02-05"}

client = ApiClient(Configuration(host=os.environ["LOADAWARE_URL"], access_token=os.environ["LOADAWARE_TOKEN"]))
ask, tell, tasks, service = AskApi(client), TellApi(client), TasksApi(client), ServiceApi(client)


def new_predict_request(run: str, **more) -> PredictRequest:
    return PredictRequest(dag_id=DAG, task_id=TASK, run_id=run, requested=Resources(memory="8Gi", cpu="2"), **more)


def new_observation(run: str, outcome: Outcome, **more) -> Observation:
    return Observation(dag_id=DAG, task_id=TASK, run_id=run, outcome=outcome, features=FEATURES, **more)


def receipt_of(prediction_id: str):
    """Waits for a receipt, which the service stores shortly after the answer."""
    for _ in range(100):
        try:
            return tasks.get_receipt(prediction_id)
        except NotFoundException:
            time.sleep(0.1)
    raise AssertionError(f"no receipt of {prediction_id}")


def predict() -> None:
    answer = ask.predict(new_predict_request("run-1", features=FEATURES))
    assert answer.source is Source.REQUESTED and answer.mode is Mode.ENFORCE
    assert answer.memory.request_bytes == 8 * GIB and answer.memory.limit == "8Gi"
    assert answer.cpu.request_cores == 2.0
    assert answer.risk.promised is None and math.isclose(answer.risk.target, 0.015)
    assert answer.model is None and answer.bins is None and answer.shadow is None
    assert answer.ladder_bytes == [8 * GIB, 16 * GIB, 32 * GIB, 128 * GIB]
    receipt = receipt_of(answer.prediction_id)
    assert receipt.ask.features == FEATURES, receipt.ask.features
    assert receipt.answer.memory.request_bytes == 8 * GIB
    assert receipt.answered_at.tzinfo is not None


def predict_with_a_model() -> None:
    features = {"product_count": 1253, "store_count": 12, "region": "emea", "execution_date": "2020-02-01"}
    answer = ask.predict(PredictRequest(dag_id="pricing", task_id="predict_demand", features=features))
    assert answer.source is Source.MODEL and answer.model.version >= 1
    assert isinstance(answer.model.trained_at, datetime) and answer.model.observations > 100
    assert 0 < answer.risk.promised < 1 and answer.ladder_bytes[0] == answer.memory.limit_bytes
    assert 0 < answer.duration.median_seconds <= answer.duration.p95_seconds
    assert math.isclose(sum(answer.bins.probabilities), 1, abs_tol=0.01)


def observe() -> None:
    success = new_observation("run-1", Outcome.SUCCESS, memory_max_bytes=5 * GIB, duration_seconds=60.5, cpu_max_cores=1.5)
    first, again = tell.observe(success), tell.observe(success)
    assert (first.recorded, first.duplicate, again.duplicate) == (True, False, True)
    assert first.warnings is None or all(w.field and w.detail for w in first.warnings)
    killed = new_observation("run-2", Outcome.OOM_KILLED, duration_seconds=30, allocated=Resources(memory_bytes=4 * GIB))
    assert tell.observe(killed).recorded


def lift() -> None:
    failed = FailedMemory(memory_bytes=4 * GIB)
    request = LiftRequest(dag_id=DAG, task_id=TASK, run_id="run-2", reason="oom_killed", failed=failed, max_memory="64Gi")
    answer = ask.retry_lift(request)
    assert answer.retry and answer.verdict == "lift" and answer.attempt == 2
    assert answer.memory.request_bytes > 4 * GIB
    evicted = LiftRequest(dag_id=DAG, task_id=TASK, run_id="run-3", reason="evicted", failed=failed)
    answer = ask.retry_lift(evicted)
    assert not answer.retry and answer.verdict == "not_memory" and answer.memory is None


def batch() -> None:
    bad = new_predict_request("run-5")
    bad.requested = Resources(memory="350GiB")
    good, rejected = ask.predict_batch(PredictBatchRequest(tasks=[new_predict_request("run-4"), bad])).predictions
    assert isinstance(good.actual_instance, Prediction) and good.actual_instance.memory is not None
    assert isinstance(rejected.actual_instance, ItemError)
    problem = rejected.actual_instance.error
    assert problem.status == 422 and problem.errors[0].var_field == "tasks[1].requested.memory"


def profile() -> None:
    known = tasks.get_task(DAG, TASK)
    assert (known.observations, known.kills, known.largest_peak_bytes) == (2, 1, 5 * GIB)
    kinds = {f.name: f.kind for f in known.features}
    assert kinds == {
        "product_count": "number", "discount": "number", "region": "category", "promo": "bool", "sale_end": "date"
    }, kinds  # fmt: skip
    assert isinstance(known.last_seen, datetime) and known.policy.mode is Mode.ENFORCE
    learned = tasks.get_task("pricing", "predict_demand")
    assert learned.champion.version >= 1 and learned.exam and learned.memory_bytes.p50 <= learned.memory_bytes.max
    assert any(t.task_id == TASK for t in tasks.list_tasks(namespace="default").tasks)
    assert tasks.list_models("pricing", "predict_demand").models[0].version >= 1


def policy() -> None:
    put = tasks.put_policy(DAG, TASK, PolicyRequest(mode="shadow", cap="384Gi", risk_target=0.01, max_lifts=None))
    got = tasks.get_policy(DAG, TASK)
    assert put == got and got.mode is Mode.SHADOW and got.cap_bytes == 384 * GIB and got.floor_bytes is None
    assert tasks.put_policy(DAG, TASK, PolicyRequest()).mode is Mode.ENFORCE
    assert tasks.list_audit(dag_id=DAG, task_id=TASK).entries[0].after["mode"] == "enforce"


def errors() -> None:
    try:
        ask.predict(PredictRequest(dag_id=DAG, task_id=TASK, requested=Resources(memory="350GiB", cpu="lots")))
    except ApiException as rejection:
        problem = rejection.data
        assert isinstance(problem, Problem) and problem.status == rejection.status == 422
        assert [e.var_field for e in problem.errors] == ["requested.memory", "requested.cpu"], problem.errors
        assert problem.type == "urn:loadaware:problem:invalid" and problem.request_id
    else:
        raise AssertionError("a wrong quantity was accepted")
    try:
        tasks.get_task(DAG, "unknown")
    except NotFoundException as missing:
        assert isinstance(missing.data, Problem) and missing.data.status == 404
    else:
        raise AssertionError("an unknown task was found")


if __name__ == "__main__":
    assert service.health().status == "ok"
    for step in (predict, predict_with_a_model, observe, lift, batch, profile, policy, errors):
        step()
        print("ok", step.__name__)
