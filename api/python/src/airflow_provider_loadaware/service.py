"""The server, asked with care: in time, once more on a broken connection, and not at all while it is known to fail.

Built on the generated `loadaware_client`; knows nothing of Airflow.
"""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx

from airflow_provider_loadaware.breaker import Breaker
from airflow_provider_loadaware.transport import BoundedTransport, within
from loadaware_client import Client
from loadaware_client.api.ask import predict, predict_batch, retry_lift
from loadaware_client.api.service import ready
from loadaware_client.api.tell import observe, observe_batch
from loadaware_client.models.lift import Lift
from loadaware_client.models.lift_request import LiftRequest
from loadaware_client.models.observation import Observation
from loadaware_client.models.observe_batch_answer import ObserveBatchAnswer
from loadaware_client.models.observe_batch_request import ObserveBatchRequest
from loadaware_client.models.predict_batch_request import PredictBatchRequest
from loadaware_client.models.predict_request import PredictRequest
from loadaware_client.models.prediction import Prediction
from loadaware_client.models.readiness import Readiness
from loadaware_client.models.recorded import Recorded
from loadaware_client.models.recorded_or_error import RecordedOrError
from loadaware_client.types import Response

CONNECT_SECONDS = 0.3
TOTAL_SECONDS = 2.0
T = TypeVar("T")


class NotAnsweredError(Exception):
    """The server could not be asked, or did not answer in time or in sense. Later it may."""


class RefusedError(Exception):
    """The server said no: a 4xx. `status` and its `detail` say why."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status

    @property
    def later(self) -> bool:
        """Whether the same request may be accepted later: a new token, a slower pace."""
        return self.status in (401, 403, 408, 425, 429)


class Deadline:
    """What is left of the time that one phase of a try may cost, in all its calls together."""

    def __init__(self, seconds: float = TOTAL_SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds; 0 once it has passed."""
        return max(0.0, self._end - time.monotonic())


class Service:
    """One server. Its methods raise NotAnsweredError and RefusedError, and nothing else.

    `state` is a folder for what processes tell each other; None for nothing of it.
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
                event_hooks={"response": [_refuse]},
            )
        )
        name = hashlib.sha256(self.base_url.encode()).hexdigest()[:16]
        # Asking and telling fail apart: without its database the server answers, and cannot record.
        self._asking = Breaker(state / f"asking-{name}.json" if state else None)
        self._telling = Breaker(state / f"telling-{name}.json" if state else None)

    def predict(self, question: dict[str, Any], deadline: Deadline) -> Prediction:
        """POST /predict."""
        body = PredictRequest.from_dict(question)
        return self._call(
            self._asking, deadline, Prediction, lambda: predict.sync_detailed(client=self._client, body=body)
        )

    def lift(self, question: dict[str, Any], deadline: Deadline) -> Lift:
        """POST /retry-lift."""
        body = LiftRequest.from_dict(question)
        return self._call(
            self._asking, deadline, Lift, lambda: retry_lift.sync_detailed(client=self._client, body=body)
        )

    def observe(self, report: dict[str, Any], deadline: Deadline) -> Recorded:
        """POST /observe."""
        body = Observation.from_dict(report)
        return self._call(
            self._telling, deadline, Recorded, lambda: observe.sync_detailed(client=self._client, body=body)
        )

    def observe_many(self, reports: list[dict[str, Any]], deadline: Deadline) -> list[RecordedOrError]:
        """POST /observe/batch: one answer for each report, in order."""
        body = ObserveBatchRequest.from_dict({"observations": reports})
        answer = self._call(
            self._telling,
            deadline,
            ObserveBatchAnswer,
            lambda: observe_batch.sync_detailed(client=self._client, body=body),
        )
        if len(answer.results) != len(reports):
            raise NotAnsweredError(f"{len(reports)} reports were answered {len(answer.results)} times")
        return answer.results

    def check(self, deadline: Deadline) -> Readiness:
        """Whether the server is ready, and lets this token both ask and tell. Asks also while the circuit is open."""
        never = Breaker(None)
        state = self._call(never, deadline, Readiness, lambda: ready.sync_detailed(client=self._client))
        nothing = (
            lambda: predict_batch.sync_detailed(client=self._client, body=PredictBatchRequest(tasks=[])),
            lambda: observe_batch.sync_detailed(client=self._client, body=ObserveBatchRequest(observations=[])),
        )
        for send in nothing:
            # Of nothing there is nothing to answer; but first the server looks at the token.
            try:
                self._call(never, deadline, object, send)
            except RefusedError as error:
                if error.status != 422:
                    raise
        return state

    def _call(self, breaker: Breaker, deadline: Deadline, kind: type[T], send: Callable[[], Response[Any]]) -> T:
        if breaker.is_open():
            raise NotAnsweredError(f"{self.base_url} failed repeatedly and rests for a while")
        if not deadline.left():
            raise NotAnsweredError(f"no time was left to ask {self.base_url}")
        try:
            answer = within(deadline.left(), lambda: _once_more(send)).parsed
        except RefusedError:
            breaker.succeeded()
            raise
        except Exception as error:
            breaker.failed()
            raise NotAnsweredError(f"{self.base_url}: {_said(error)}") from error
        if not isinstance(answer, kind):
            breaker.failed()
            raise NotAnsweredError(f"{self.base_url} answered with {type(answer).__name__}")
        breaker.succeeded()
        return answer


def _once_more(send: Callable[[], T]) -> T:
    """Everything here may be said twice: a question changes nothing, a report counts once a try."""
    try:
        return send()
    except (httpx.NetworkError, httpx.ConnectTimeout, httpx.RemoteProtocolError):
        return send()


def _refuse(response: httpx.Response) -> None:
    """Turns an error status into an exception, whatever the body is."""
    if response.status_code < 400:
        return
    response.read()
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = response.reason_phrase
    if response.status_code >= 500:
        raise NotAnsweredError(f"{response.status_code}: {detail[:300]}")
    raise RefusedError(response.status_code, detail[:300])


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300] if str(error) else type(error).__name__
