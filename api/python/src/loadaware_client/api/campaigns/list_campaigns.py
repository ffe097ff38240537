from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_page import CampaignPage
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/campaigns",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CampaignPage | Problem:
    if response.status_code == 200:
        response_200 = CampaignPage.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[CampaignPage | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[CampaignPage | Problem]:
    """List campaigns with their progress, newest first

     A campaign reproduces archived runs of one DAG in a sandbox, so that their usage is known before
    production needs it.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignPage | Problem]
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
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> CampaignPage | Problem | None:
    """List campaigns with their progress, newest first

     A campaign reproduces archived runs of one DAG in a sandbox, so that their usage is known before
    production needs it.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignPage | Problem
    """

    return sync_detailed(
        client=client,
        limit=limit,
        cursor=cursor,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[CampaignPage | Problem]:
    """List campaigns with their progress, newest first

     A campaign reproduces archived runs of one DAG in a sandbox, so that their usage is known before
    production needs it.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignPage | Problem]
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
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> CampaignPage | Problem | None:
    """List campaigns with their progress, newest first

     A campaign reproduces archived runs of one DAG in a sandbox, so that their usage is known before
    production needs it.

    Args:
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignPage | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            limit=limit,
            cursor=cursor,
        )
    ).parsed
