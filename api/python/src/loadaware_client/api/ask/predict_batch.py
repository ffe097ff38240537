from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.predict_batch_answer import PredictBatchAnswer
from ...models.predict_batch_request import PredictBatchRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: PredictBatchRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/predict/batch",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> PredictBatchAnswer | Problem:
    if response.status_code == 200:
        response_200 = PredictBatchAnswer.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[PredictBatchAnswer | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: PredictBatchRequest,
) -> Response[PredictBatchAnswer | Problem]:
    """Predict the allocations of many tries

     The answers have the order of the requests. An invalid item does not affect the others; its error
    names the fields as `tasks[3].run_id`.

    Args:
        body (PredictBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[PredictBatchAnswer | Problem]
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
    body: PredictBatchRequest,
) -> PredictBatchAnswer | Problem | None:
    """Predict the allocations of many tries

     The answers have the order of the requests. An invalid item does not affect the others; its error
    names the fields as `tasks[3].run_id`.

    Args:
        body (PredictBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        PredictBatchAnswer | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: PredictBatchRequest,
) -> Response[PredictBatchAnswer | Problem]:
    """Predict the allocations of many tries

     The answers have the order of the requests. An invalid item does not affect the others; its error
    names the fields as `tasks[3].run_id`.

    Args:
        body (PredictBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[PredictBatchAnswer | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: PredictBatchRequest,
) -> PredictBatchAnswer | Problem | None:
    """Predict the allocations of many tries

     The answers have the order of the requests. An invalid item does not affect the others; its error
    names the fields as `tasks[3].run_id`.

    Args:
        body (PredictBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        PredictBatchAnswer | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
