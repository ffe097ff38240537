from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_registered import CampaignRegistered
from ...models.campaign_runs_request import CampaignRunsRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    campaign: int,
    *,
    body: CampaignRunsRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/campaigns/{campaign}/runs".format(
            campaign=quote(str(campaign), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CampaignRegistered | Problem:
    if response.status_code == 200:
        response_200 = CampaignRegistered.from_dict(response.json())

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
) -> Response[CampaignRegistered | Problem]:
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
    body: CampaignRunsRequest,
) -> Response[CampaignRegistered | Problem]:
    """Register archived runs

     Adds runs in the state 0 (registered). A run is registered once: scenario, conf and execution date
    identify it. `conf` is the conf of the
    archived DAG run; the conf of the campaign overrides it.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignRunsRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRegistered | Problem]
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
    body: CampaignRunsRequest,
) -> CampaignRegistered | Problem | None:
    """Register archived runs

     Adds runs in the state 0 (registered). A run is registered once: scenario, conf and execution date
    identify it. `conf` is the conf of the
    archived DAG run; the conf of the campaign overrides it.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignRunsRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRegistered | Problem
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
    body: CampaignRunsRequest,
) -> Response[CampaignRegistered | Problem]:
    """Register archived runs

     Adds runs in the state 0 (registered). A run is registered once: scenario, conf and execution date
    identify it. `conf` is the conf of the
    archived DAG run; the conf of the campaign overrides it.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignRunsRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRegistered | Problem]
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
    body: CampaignRunsRequest,
) -> CampaignRegistered | Problem | None:
    """Register archived runs

     Adds runs in the state 0 (registered). A run is registered once: scenario, conf and execution date
    identify it. `conf` is the conf of the
    archived DAG run; the conf of the campaign overrides it.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignRunsRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRegistered | Problem
    """

    return (
        await asyncio_detailed(
            campaign=campaign,
            client=client,
            body=body,
        )
    ).parsed
