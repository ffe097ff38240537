from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.explanation import Explanation
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    prediction_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/predictions/{prediction_id}/explanation".format(
            prediction_id=quote(str(prediction_id), safe=""),
        ),
    }

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
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Explanation | Problem]:
    """Explain a recorded answer

     Splits the granted bytes into a base and factors, as the model version that gave the answer computes
    them. If the server cannot restore the
    state that this version had at the time of the answer, `terms` has no factors for single features;
    for a first try, `note` then says why. For a try that
    was OOM-killed, `killed` says why, and which amount would have held.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Explanation | Problem]
    """

    kwargs = _get_kwargs(
        prediction_id=prediction_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Explanation | Problem | None:
    """Explain a recorded answer

     Splits the granted bytes into a base and factors, as the model version that gave the answer computes
    them. If the server cannot restore the
    state that this version had at the time of the answer, `terms` has no factors for single features;
    for a first try, `note` then says why. For a try that
    was OOM-killed, `killed` says why, and which amount would have held.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Explanation | Problem
    """

    return sync_detailed(
        prediction_id=prediction_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Explanation | Problem]:
    """Explain a recorded answer

     Splits the granted bytes into a base and factors, as the model version that gave the answer computes
    them. If the server cannot restore the
    state that this version had at the time of the answer, `terms` has no factors for single features;
    for a first try, `note` then says why. For a try that
    was OOM-killed, `killed` says why, and which amount would have held.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Explanation | Problem]
    """

    kwargs = _get_kwargs(
        prediction_id=prediction_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Explanation | Problem | None:
    """Explain a recorded answer

     Splits the granted bytes into a base and factors, as the model version that gave the answer computes
    them. If the server cannot restore the
    state that this version had at the time of the answer, `terms` has no factors for single features;
    for a first try, `note` then says why. For a try that
    was OOM-killed, `killed` says why, and which amount would have held.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Explanation | Problem
    """

    return (
        await asyncio_detailed(
            prediction_id=prediction_id,
            client=client,
        )
    ).parsed
