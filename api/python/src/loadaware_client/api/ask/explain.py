from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.explanation import Explanation
from ...models.predict_request import PredictRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: PredictRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/explain",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Explanation | Problem:
    if response.status_code == 200:
        response_200 = Explanation.from_dict(response.json())

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
) -> Response[Explanation | Problem]:
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
) -> Response[Explanation | Problem]:
    """Explain what /predict would answer

     Answers the request as /predict does and explains the answer. Nothing is recorded. The factors
    multiply to the granted
    bytes: `base_bytes` times every `factor` is `granted_bytes`, and the last `bytes_after` is
    `granted_bytes`. Features have exact
    Shapley values in log bytes; `same inputs` is the effect of earlier runs with identical features.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Explanation | Problem]
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
) -> Explanation | Problem | None:
    """Explain what /predict would answer

     Answers the request as /predict does and explains the answer. Nothing is recorded. The factors
    multiply to the granted
    bytes: `base_bytes` times every `factor` is `granted_bytes`, and the last `bytes_after` is
    `granted_bytes`. Features have exact
    Shapley values in log bytes; `same inputs` is the effect of earlier runs with identical features.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Explanation | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest,
) -> Response[Explanation | Problem]:
    """Explain what /predict would answer

     Answers the request as /predict does and explains the answer. Nothing is recorded. The factors
    multiply to the granted
    bytes: `base_bytes` times every `factor` is `granted_bytes`, and the last `bytes_after` is
    `granted_bytes`. Features have exact
    Shapley values in log bytes; `same inputs` is the effect of earlier runs with identical features.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Explanation | Problem]
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
) -> Explanation | Problem | None:
    """Explain what /predict would answer

     Answers the request as /predict does and explains the answer. Nothing is recorded. The factors
    multiply to the granted
    bytes: `base_bytes` times every `factor` is `granted_bytes`, and the last `bytes_after` is
    `granted_bytes`. Features have exact
    Shapley values in log bytes; `same inputs` is the effect of earlier runs with identical features.

    Args:
        body (PredictRequest): The request before a launch.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Explanation | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
