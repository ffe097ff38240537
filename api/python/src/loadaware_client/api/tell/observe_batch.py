from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.observe_batch_answer import ObserveBatchAnswer
from ...models.observe_batch_request import ObserveBatchRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: ObserveBatchRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/observe/batch",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> ObserveBatchAnswer | Problem:
    if response.status_code == 200:
        response_200 = ObserveBatchAnswer.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[ObserveBatchAnswer | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ObserveBatchRequest,
) -> Response[ObserveBatchAnswer | Problem]:
    """Report many tries

     The answers have the order of the reports; the server answers after all valid reports are committed.
    An invalid item
    does not affect the others; its error names the fields as `observations[3].outcome`.

    Args:
        body (ObserveBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[ObserveBatchAnswer | Problem]
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
    body: ObserveBatchRequest,
) -> ObserveBatchAnswer | Problem | None:
    """Report many tries

     The answers have the order of the reports; the server answers after all valid reports are committed.
    An invalid item
    does not affect the others; its error names the fields as `observations[3].outcome`.

    Args:
        body (ObserveBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        ObserveBatchAnswer | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ObserveBatchRequest,
) -> Response[ObserveBatchAnswer | Problem]:
    """Report many tries

     The answers have the order of the reports; the server answers after all valid reports are committed.
    An invalid item
    does not affect the others; its error names the fields as `observations[3].outcome`.

    Args:
        body (ObserveBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[ObserveBatchAnswer | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: ObserveBatchRequest,
) -> ObserveBatchAnswer | Problem | None:
    """Report many tries

     The answers have the order of the reports; the server answers after all valid reports are committed.
    An invalid item
    does not affect the others; its error names the fields as `observations[3].outcome`.

    Args:
        body (ObserveBatchRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        ObserveBatchAnswer | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
