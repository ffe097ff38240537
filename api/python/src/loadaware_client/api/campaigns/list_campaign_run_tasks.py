from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_tasks import CampaignTasks
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    campaign: int,
    n: int,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/campaigns/{campaign}/runs/{n}/tasks".format(
            campaign=quote(str(campaign), safe=""),
            n=quote(str(n), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CampaignTasks | Problem:
    if response.status_code == 200:
        response_200 = CampaignTasks.from_dict(response.json())

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
) -> Response[CampaignTasks | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    campaign: int,
    n: int,
    *,
    client: AuthenticatedClient | Client,
) -> Response[CampaignTasks | Problem]:
    """List the tasks of a reproduced run with their reported peaks

     Contains the tasks of the current attempt with at least one reported try.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignTasks | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        n=n,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    campaign: int,
    n: int,
    *,
    client: AuthenticatedClient | Client,
) -> CampaignTasks | Problem | None:
    """List the tasks of a reproduced run with their reported peaks

     Contains the tasks of the current attempt with at least one reported try.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignTasks | Problem
    """

    return sync_detailed(
        campaign=campaign,
        n=n,
        client=client,
    ).parsed


async def asyncio_detailed(
    campaign: int,
    n: int,
    *,
    client: AuthenticatedClient | Client,
) -> Response[CampaignTasks | Problem]:
    """List the tasks of a reproduced run with their reported peaks

     Contains the tasks of the current attempt with at least one reported try.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignTasks | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        n=n,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    campaign: int,
    n: int,
    *,
    client: AuthenticatedClient | Client,
) -> CampaignTasks | Problem | None:
    """List the tasks of a reproduced run with their reported peaks

     Contains the tasks of the current attempt with at least one reported try.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignTasks | Problem
    """

    return (
        await asyncio_detailed(
            campaign=campaign,
            n=n,
            client=client,
        )
    ).parsed
