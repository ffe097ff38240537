from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_release import CampaignRelease
from ...models.campaign_release_request import CampaignReleaseRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    campaign: int,
    *,
    body: CampaignReleaseRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/campaigns/{campaign}/release".format(
            campaign=quote(str(campaign), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CampaignRelease | Problem:
    if response.status_code == 200:
        response_200 = CampaignRelease.from_dict(response.json())

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
) -> Response[CampaignRelease | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    body: CampaignReleaseRequest,
) -> Response[CampaignRelease | Problem]:
    """Release lost leases and list stuck runs

     Ends the leases that expired, and lists at most 20 claimed or active runs whose state has not
    changed for
    `stuck_after_seconds`. It restarts and deletes nothing.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignReleaseRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRelease | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    body: CampaignReleaseRequest,
) -> CampaignRelease | Problem | None:
    """Release lost leases and list stuck runs

     Ends the leases that expired, and lists at most 20 claimed or active runs whose state has not
    changed for
    `stuck_after_seconds`. It restarts and deletes nothing.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignReleaseRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRelease | Problem
    """

    return sync_detailed(
        campaign=campaign,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    body: CampaignReleaseRequest,
) -> Response[CampaignRelease | Problem]:
    """Release lost leases and list stuck runs

     Ends the leases that expired, and lists at most 20 claimed or active runs whose state has not
    changed for
    `stuck_after_seconds`. It restarts and deletes nothing.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignReleaseRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRelease | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    body: CampaignReleaseRequest,
) -> CampaignRelease | Problem | None:
    """Release lost leases and list stuck runs

     Ends the leases that expired, and lists at most 20 claimed or active runs whose state has not
    changed for
    `stuck_after_seconds`. It restarts and deletes nothing.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignReleaseRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRelease | Problem
    """

    return (
        await asyncio_detailed(
            campaign=campaign,
            client=client,
            body=body,
        )
    ).parsed
