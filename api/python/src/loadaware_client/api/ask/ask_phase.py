from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.phase_answer import PhaseAnswer
from ...models.phase_request import PhaseRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: PhaseRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/phase",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> PhaseAnswer | Problem:
    if response.status_code == 200:
        response_200 = PhaseAnswer.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[PhaseAnswer | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: PhaseRequest,
) -> Response[PhaseAnswer | Problem]:
    """Ask what a running try needs now and next

     This operation is for tries whose prediction has a `plan`. The request contains the usage so far;
    the server keeps no state between two
    calls. The answer has the amounts that should be in force by `by_seconds`, and the time of the next
    call. `memory_bytes` is
    never below `limit_bytes`: a limit only grows. If nothing is known about the task or the try, the
    answer is no error: it
    has the static grant, or `limit_bytes` if that is greater or if the grant is unknown, and `reason`
    says why.

    Args:
        body (PhaseRequest): The usage of a running try so far.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[PhaseAnswer | Problem]
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
    body: PhaseRequest,
) -> PhaseAnswer | Problem | None:
    """Ask what a running try needs now and next

     This operation is for tries whose prediction has a `plan`. The request contains the usage so far;
    the server keeps no state between two
    calls. The answer has the amounts that should be in force by `by_seconds`, and the time of the next
    call. `memory_bytes` is
    never below `limit_bytes`: a limit only grows. If nothing is known about the task or the try, the
    answer is no error: it
    has the static grant, or `limit_bytes` if that is greater or if the grant is unknown, and `reason`
    says why.

    Args:
        body (PhaseRequest): The usage of a running try so far.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        PhaseAnswer | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: PhaseRequest,
) -> Response[PhaseAnswer | Problem]:
    """Ask what a running try needs now and next

     This operation is for tries whose prediction has a `plan`. The request contains the usage so far;
    the server keeps no state between two
    calls. The answer has the amounts that should be in force by `by_seconds`, and the time of the next
    call. `memory_bytes` is
    never below `limit_bytes`: a limit only grows. If nothing is known about the task or the try, the
    answer is no error: it
    has the static grant, or `limit_bytes` if that is greater or if the grant is unknown, and `reason`
    says why.

    Args:
        body (PhaseRequest): The usage of a running try so far.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[PhaseAnswer | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: PhaseRequest,
) -> PhaseAnswer | Problem | None:
    """Ask what a running try needs now and next

     This operation is for tries whose prediction has a `plan`. The request contains the usage so far;
    the server keeps no state between two
    calls. The answer has the amounts that should be in force by `by_seconds`, and the time of the next
    call. `memory_bytes` is
    never below `limit_bytes`: a limit only grows. If nothing is known about the task or the try, the
    answer is no error: it
    has the static grant, or `limit_bytes` if that is greater or if the grant is unknown, and `reason`
    says why.

    Args:
        body (PhaseRequest): The usage of a running try so far.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        PhaseAnswer | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
