from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign import Campaign
from ...models.campaign_resume_request import CampaignResumeRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    campaign: int,
    *,
    body: CampaignResumeRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/campaigns/{campaign}/resume".format(
            campaign=quote(str(campaign), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Campaign | Problem:
    if response.status_code == 200:
        response_200 = Campaign.from_dict(response.json())

        return response_200

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

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
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    body: CampaignResumeRequest,
) -> Response[Campaign | Problem]:
    """Resume a campaign, with another budget if one is sent

     Ends a pause, or the stop after a used-up budget. A campaign whose budget is still used up stops
    again at the next claim.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignResumeRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Campaign | Problem]
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
    body: CampaignResumeRequest,
) -> Campaign | Problem | None:
    """Resume a campaign, with another budget if one is sent

     Ends a pause, or the stop after a used-up budget. A campaign whose budget is still used up stops
    again at the next claim.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignResumeRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Campaign | Problem
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
    body: CampaignResumeRequest,
) -> Response[Campaign | Problem]:
    """Resume a campaign, with another budget if one is sent

     Ends a pause, or the stop after a used-up budget. A campaign whose budget is still used up stops
    again at the next claim.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignResumeRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Campaign | Problem]
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
    body: CampaignResumeRequest,
) -> Campaign | Problem | None:
    """Resume a campaign, with another budget if one is sent

     Ends a pause, or the stop after a used-up budget. A campaign whose budget is still used up stops
    again at the next claim.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignResumeRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Campaign | Problem
    """

    return (
        await asyncio_detailed(
            campaign=campaign,
            client=client,
            body=body,
        )
    ).parsed
