from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    whatif_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "delete",
        "url": "/whatif/{whatif_id}".format(
            whatif_id=quote(str(whatif_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Any | Problem:
    if response.status_code == 204:
        response_204 = cast(Any, None)
        return response_204

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    whatif_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Any | Problem]:
    """Cancel a replay

     Ends the replay if it is running or waiting. Cancelling twice answers 404.

    Args:
        whatif_id (str):  Example: F6ZW2L5RQR7YRVP7QE7ZDXG2ME.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        whatif_id=whatif_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    whatif_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Any | Problem | None:
    """Cancel a replay

     Ends the replay if it is running or waiting. Cancelling twice answers 404.

    Args:
        whatif_id (str):  Example: F6ZW2L5RQR7YRVP7QE7ZDXG2ME.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Any | Problem
    """

    return sync_detailed(
        whatif_id=whatif_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    whatif_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Any | Problem]:
    """Cancel a replay

     Ends the replay if it is running or waiting. Cancelling twice answers 404.

    Args:
        whatif_id (str):  Example: F6ZW2L5RQR7YRVP7QE7ZDXG2ME.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        whatif_id=whatif_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    whatif_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Any | Problem | None:
    """Cancel a replay

     Ends the replay if it is running or waiting. Cancelling twice answers 404.

    Args:
        whatif_id (str):  Example: F6ZW2L5RQR7YRVP7QE7ZDXG2ME.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Any | Problem
    """

    return (
        await asyncio_detailed(
            whatif_id=whatif_id,
            client=client,
        )
    ).parsed
