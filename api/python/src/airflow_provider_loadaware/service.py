"""Client of the server with a deadline, one retry on a broken connection, and a circuit breaker.

It wraps the generated `loadaware_client` and does not depend on Airflow.
"""

from __future__ import annotations

import functools
import hashlib
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from airflow_provider_loadaware.breaker import OPEN_SECONDS, Breaker
from airflow_provider_loadaware.transport import BoundedTransport, run_with_timeout
from loadaware_client import Client
from loadaware_client.api.ask import ask_phase, predict, predict_batch, retry_lift
from loadaware_client.api.service import ready
from loadaware_client.api.tell import observe, observe_batch  # codespell:ignore tell
from loadaware_client.models.lift import Lift
from loadaware_client.models.lift_request import LiftRequest
from loadaware_client.models.observation import Observation
from loadaware_client.models.observe_batch_answer import ObserveBatchAnswer
from loadaware_client.models.observe_batch_request import ObserveBatchRequest
from loadaware_client.models.phase_answer import PhaseAnswer
from loadaware_client.models.phase_request import PhaseRequest
from loadaware_client.models.predict_batch_request import PredictBatchRequest
from loadaware_client.models.predict_request import PredictRequest
from loadaware_client.models.prediction import Prediction
from loadaware_client.models.readiness import Readiness
from loadaware_client.models.recorded import Recorded
from loadaware_client.models.recorded_or_error import RecordedOrError
from loadaware_client.types import Response

CONNECT_SECONDS = 0.3
TOTAL_SECONDS = 2.0  # the launch and the end of a task wait for these requests
TASK_HEADER = "Loadaware-Task"  # with it, a proxy can route by task without reading the body
T = TypeVar("T")


class NotAnsweredError(Exception):
    """There is no valid answer, and a later request may succeed.

    The server is unreachable or late, or answers with a 5xx status or invalid data; or the circuit breaker is open, or
    no time is left.
    """


class RejectedError(Exception):
    """The server rejected the request with a 4xx status. The message contains the detail of the answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later, such as with a new token or at a lower rate."""
        return self.status in (401, 403, 408, 425, 429)


class InvalidRequestError(ValueError):
    """The request cannot be encoded as JSON in UTF-8, so it is not sent."""


class Deadline:
    """A time budget that several calls can share; TOTAL_SECONDS by default."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = time.monotonic() + (TOTAL_SECONDS if seconds is None else seconds)

    def seconds_left(self) -> float:
        """Return the seconds left, at least 0."""
        return max(0.0, self._end - time.monotonic())


class Service:
    """One server. With valid arguments, its methods raise only NotAnsweredError and RejectedError.

    An argument that cannot be sent raises InvalidRequestError or an error of the generated client; in the method
    `request` it raises NotAnsweredError. The circuit breakers do not count these errors, because the server did not
    fail.

    `state` is a folder in which processes share the state of the circuit breakers; None turns the breakers off.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        verify: ssl.SSLContext | bool = True,
        state: Path | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.base_url = base_url.rstrip("/")
        self._client = Client(base_url=self.base_url).set_httpx_client(
            httpx.Client(
                base_url=self.base_url,
                headers=headers,
                timeout=httpx.Timeout(TOTAL_SECONDS, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
                transport=BoundedTransport(verify, TOTAL_SECONDS),
                event_hooks={"request": [_add_task_header], "response": [_raise_for_status]},
            )
        )
        name = hashlib.sha256(self.base_url.encode()).hexdigest()[:16]
        # Separate breakers: without its database the server still predicts, but cannot record.
        self._predict_breaker = Breaker(state / f"predict-{name}.json" if state else None)
        self._observe_breaker = Breaker(state / f"observe-{name}.json" if state else None)

    def predict(self, request: dict[str, Any], deadline: Deadline) -> Prediction:
        """Send POST /predict."""
        body = PredictRequest.from_dict(request)
        check_encodable(body.to_dict())
        return self._call(
            self._predict_breaker, deadline, Prediction, lambda: predict.sync_detailed(client=self._client, body=body)
        )

    def phase(self, request: dict[str, Any], deadline: Deadline) -> PhaseAnswer:
        """Send POST /phase."""
        body = PhaseRequest.from_dict(request)
        check_encodable(body.to_dict())
        send = functools.partial(ask_phase.sync_detailed, client=self._client, body=body)
        return self._call(self._predict_breaker, deadline, PhaseAnswer, send)

    def lift(self, request: dict[str, Any], deadline: Deadline) -> Lift:
        """Send POST /retry-lift."""
        body = LiftRequest.from_dict(request)
        check_encodable(body.to_dict())
        return self._call(
            self._predict_breaker, deadline, Lift, lambda: retry_lift.sync_detailed(client=self._client, body=body)
        )

    def observe(self, report: dict[str, Any], deadline: Deadline) -> Recorded:
        """Send POST /observe."""
        body = Observation.from_dict(report)
        check_encodable(body.to_dict())
        return self._call(
            self._observe_breaker, deadline, Recorded, lambda: observe.sync_detailed(client=self._client, body=body)
        )

    def observe_many(self, reports: list[dict[str, Any]], deadline: Deadline) -> list[RecordedOrError]:
        """Send POST /observe/batch. Returns one answer for each report, in order."""
        body = ObserveBatchRequest.from_dict({"observations": reports})
        check_encodable(body.to_dict())
        answer = self._call(
            self._observe_breaker,
            deadline,
            ObserveBatchAnswer,
            lambda: observe_batch.sync_detailed(client=self._client, body=body),
        )
        if len(answer.results) != len(reports):
            raise NotAnsweredError(f"POST /observe/batch: {len(answer.results)} answers for {len(reports)} reports")
        return answer.results

    def check(self, deadline: Deadline) -> Readiness:
        """Check that the server is ready and the token has the roles predict and observe; no circuit breaker."""
        no_breaker = Breaker(None)
        state = self._call(no_breaker, deadline, Readiness, lambda: ready.sync_detailed(client=self._client))
        empty_batches = (
            lambda: predict_batch.sync_detailed(client=self._client, body=PredictBatchRequest(tasks=[])),
            lambda: observe_batch.sync_detailed(client=self._client, body=ObserveBatchRequest(observations=[])),
        )
        for send in empty_batches:
            # The server rejects an empty batch with 422, but checks the token first.
            try:
                self._call(no_breaker, deadline, object, send)
            except RejectedError as error:
                if error.status != 422:
                    raise
        return state

    def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, seconds: float | None = None
    ) -> dict[str, Any]:
        """Send a request without the circuit breaker, and return the JSON object of the answer.

        The request must be safe to repeat, because it is sent again after a broken connection. It may take `seconds`;
        by default twice TOTAL_SECONDS.
        """
        client = self._client.get_httpx_client()

        def send() -> dict[str, Any]:
            answer: dict[str, Any] = client.request(method, path, json=body).json()
            return answer

        try:
            return run_with_timeout(2 * TOTAL_SECONDS if seconds is None else seconds, lambda: _send_with_retry(send))
        except (RejectedError, NotAnsweredError):
            raise
        except Exception as error:
            raise NotAnsweredError(f"{self.base_url}: {_describe(error)}") from error

    def _call(self, breaker: Breaker, deadline: Deadline, kind: type[T], send: Callable[[], Response[Any]]) -> T:
        if breaker.is_open():
            raise NotAnsweredError(f"{self.base_url} failed repeatedly; requests pause for {OPEN_SECONDS:.0f} s")
        if not deadline.seconds_left():
            raise NotAnsweredError(f"no time left to call {self.base_url}")
        try:
            answer = run_with_timeout(deadline.seconds_left(), lambda: _send_with_retry(send)).parsed
        except RejectedError:
            breaker.record_success()
            raise
        except Exception as error:
            breaker.record_failure()
            raise NotAnsweredError(f"{self.base_url}: {_describe(error)}") from error
        if not isinstance(answer, kind):
            breaker.record_failure()
            raise NotAnsweredError(f"{self.base_url}: unexpected answer of type {type(answer).__name__}")
        breaker.record_success()
        return answer


def check_encodable(body: dict[str, Any]) -> None:
    """Encode a body as httpx does. Raises InvalidRequestError if that fails, such as for a lone surrogate or NaN."""
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(_describe(error)) from error


def _send_with_retry(send: Callable[[], T]) -> T:
    """Send a request. Repeats it once after a broken connection, because a repeated request does no harm."""
    try:
        return send()
    except (httpx.NetworkError, httpx.ConnectTimeout, httpx.RemoteProtocolError):
        return send()


def _add_task_header(request: httpx.Request) -> None:
    """Set TASK_HEADER to the task that the body names: `dag_id/task_id`, with percent-encoded ids."""
    try:
        body = json.loads(request.content)
        request.headers[TASK_HEADER] = f"{quote(body['dag_id'], safe='')}/{quote(body['task_id'], safe='')}"
    except (ValueError, KeyError, TypeError):
        return  # there is no body, or it does not name exactly one task


def _raise_for_status(response: httpx.Response) -> None:
    if response.status_code < 400:
        return
    response.read()
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = response.reason_phrase
    if response.status_code >= 500:
        raise NotAnsweredError(f"{response.status_code}: {detail[:300]}")
    raise RejectedError(response.status_code, detail[:300])


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300] if str(error) else type(error).__name__
