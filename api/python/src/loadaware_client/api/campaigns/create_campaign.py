from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign import Campaign
from ...models.campaign_request import CampaignRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: CampaignRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/campaigns",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Campaign | Problem:
    if response.status_code == 200:
        response_200 = Campaign.from_dict(response.json())

        return response_200

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Campaign | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: CampaignRequest,
) -> Response[Campaign | Problem]:
    """Create a campaign

     A campaign needs a sandbox `conf` or its own `pool`, because its runs could write to production. It
    stops
    when its budget is used up.

    Args:
        body (CampaignRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Campaign | Problem]
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
    body: CampaignRequest,
) -> Campaign | Problem | None:
    """Create a campaign

     A campaign needs a sandbox `conf` or its own `pool`, because its runs could write to production. It
    stops
    when its budget is used up.

    Args:
        body (CampaignRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Campaign | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: CampaignRequest,
) -> Response[Campaign | Problem]:
    """Create a campaign

     A campaign needs a sandbox `conf` or its own `pool`, because its runs could write to production. It
    stops
    when its budget is used up.

    Args:
        body (CampaignRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Campaign | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: CampaignRequest,
) -> Campaign | Problem | None:
    """Create a campaign

     A campaign needs a sandbox `conf` or its own `pool`, because its runs could write to production. It
    stops
    when its budget is used up.

    Args:
        body (CampaignRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Campaign | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
