from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.experiment_page import ExperimentPage
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/experiments",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> ExperimentPage | Problem:
    if response.status_code == 200:
        response_200 = ExperimentPage.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[ExperimentPage | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
) -> Response[ExperimentPage | Problem]:
    """List the stored experiments, newest first

     Lists saved runs of `loadaware experiment`. An experiment compares models on tasks of all DAGs.
    Therefore a token with
    a limited scope cannot read experiments.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 20. Example: 20.
        cursor (str | Unset): `next_cursor` of the previous page: only experiments with a smaller
            id.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[ExperimentPage | Problem]
    """

    kwargs = _get_kwargs(
        limit=limit,
        cursor=cursor,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
) -> ExperimentPage | Problem | None:
    """List the stored experiments, newest first

     Lists saved runs of `loadaware experiment`. An experiment compares models on tasks of all DAGs.
    Therefore a token with
    a limited scope cannot read experiments.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 20. Example: 20.
        cursor (str | Unset): `next_cursor` of the previous page: only experiments with a smaller
            id.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        ExperimentPage | Problem
    """

    return sync_detailed(
        client=client,
        limit=limit,
        cursor=cursor,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
) -> Response[ExperimentPage | Problem]:
    """List the stored experiments, newest first

     Lists saved runs of `loadaware experiment`. An experiment compares models on tasks of all DAGs.
    Therefore a token with
    a limited scope cannot read experiments.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 20. Example: 20.
        cursor (str | Unset): `next_cursor` of the previous page: only experiments with a smaller
            id.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[ExperimentPage | Problem]
    """

    kwargs = _get_kwargs(
        limit=limit,
        cursor=cursor,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
) -> ExperimentPage | Problem | None:
    """List the stored experiments, newest first

     Lists saved runs of `loadaware experiment`. An experiment compares models on tasks of all DAGs.
    Therefore a token with
    a limited scope cannot read experiments.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 20. Example: 20.
        cursor (str | Unset): `next_cursor` of the previous page: only experiments with a smaller
            id.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        ExperimentPage | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            limit=limit,
            cursor=cursor,
        )
    ).parsed
