from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.predict_request import PredictRequest
from ...models.prediction import Prediction
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: PredictRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/predict",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Prediction | Problem:
    if response.status_code == 200:
        response_200 = Prediction.from_dict(response.json())

        return response_200

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Prediction | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest,
) -> Response[Prediction | Problem]:
    """Predict the allocation of a try

     The server answers from memory. A first try waits for the database only in two cases. If the model
    of the task is not in
    memory, as after a server start, it waits at most half a second for the model. If the policy of the
    task sets `phases`, it
    may wait at most 50 ms for the stored plan. A repeated request for the same try gets a
    new `prediction_id`, and the same amounts as long as the model, its margins and the policy are
    unchanged. A request without `run_id` is an ad-hoc look-up and
    not a try.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Prediction | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest,
) -> Prediction | Problem | None:
    """Predict the allocation of a try

     The server answers from memory. A first try waits for the database only in two cases. If the model
    of the task is not in
    memory, as after a server start, it waits at most half a second for the model. If the policy of the
    task sets `phases`, it
    may wait at most 50 ms for the stored plan. A repeated request for the same try gets a
    new `prediction_id`, and the same amounts as long as the model, its margins and the policy are
    unchanged. A request without `run_id` is an ad-hoc look-up and
    not a try.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Prediction | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest,
) -> Response[Prediction | Problem]:
    """Predict the allocation of a try

     The server answers from memory. A first try waits for the database only in two cases. If the model
    of the task is not in
    memory, as after a server start, it waits at most half a second for the model. If the policy of the
    task sets `phases`, it
    may wait at most 50 ms for the stored plan. A repeated request for the same try gets a
    new `prediction_id`, and the same amounts as long as the model, its margins and the policy are
    unchanged. A request without `run_id` is an ad-hoc look-up and
    not a try.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Prediction | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest,
) -> Prediction | Problem | None:
    """Predict the allocation of a try

     The server answers from memory. A first try waits for the database only in two cases. If the model
    of the task is not in
    memory, as after a server start, it waits at most half a second for the model. If the policy of the
    task sets `phases`, it
    may wait at most 50 ms for the stored plan. A repeated request for the same try gets a
    new `prediction_id`, and the same amounts as long as the model, its margins and the policy are
    unchanged. A request without `run_id` is an ad-hoc look-up and
    not a try.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Prediction | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
