from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.try_ import Try
from ...models.voided import Voided
from ...types import Response


def _get_kwargs(
    *,
    body: Try,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/observe/void",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Voided:
    if response.status_code == 200:
        response_200 = Voided.from_dict(response.json())

        return response_200

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Voided]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: Try,
) -> Response[Problem | Voided]:
    """Delete a wrong report

     The server deletes the report at once. The model forgets the report with its next training.

    Args:
        body (Try): One try of a task.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Voided]
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
    body: Try,
) -> Problem | Voided | None:
    """Delete a wrong report

     The server deletes the report at once. The model forgets the report with its next training.

    Args:
        body (Try): One try of a task.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Voided
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: Try,
) -> Response[Problem | Voided]:
    """Delete a wrong report

     The server deletes the report at once. The model forgets the report with its next training.

    Args:
        body (Try): One try of a task.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Voided]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: Try,
) -> Problem | Voided | None:
    """Delete a wrong report

     The server deletes the report at once. The model forgets the report with its next training.

    Args:
        body (Try): One try of a task.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Voided
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
