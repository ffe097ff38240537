from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_reset_request import CampaignResetRequest
from ...models.campaign_run import CampaignRun
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    campaign: int,
    n: int,
    *,
    body: CampaignResetRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/campaigns/{campaign}/runs/{n}/reset".format(
            campaign=quote(str(campaign), safe=""),
            n=quote(str(n), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CampaignRun | Problem:
    if response.status_code == 200:
        response_200 = CampaignRun.from_dict(response.json())

        return response_200

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[CampaignRun | Problem]:
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
    body: CampaignResetRequest,
) -> Response[CampaignRun | Problem]:
    """Reset a run to an earlier state

     `to` is 0 (registered: the deployment is repeated), 17 (deployed: the DAG run is repeated) or 37
    (run succeeded: the profiling is
    repeated), and not above the present state. With 0 and 17, a run whose DAG run has ended gets a new
    attempt with another run id. A claimed or active run cannot be reset.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResetRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRun | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        n=n,
        body=body,
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
    body: CampaignResetRequest,
) -> CampaignRun | Problem | None:
    """Reset a run to an earlier state

     `to` is 0 (registered: the deployment is repeated), 17 (deployed: the DAG run is repeated) or 37
    (run succeeded: the profiling is
    repeated), and not above the present state. With 0 and 17, a run whose DAG run has ended gets a new
    attempt with another run id. A claimed or active run cannot be reset.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResetRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRun | Problem
    """

    return sync_detailed(
        campaign=campaign,
        n=n,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    campaign: int,
    n: int,
    *,
    client: AuthenticatedClient | Client,
    body: CampaignResetRequest,
) -> Response[CampaignRun | Problem]:
    """Reset a run to an earlier state

     `to` is 0 (registered: the deployment is repeated), 17 (deployed: the DAG run is repeated) or 37
    (run succeeded: the profiling is
    repeated), and not above the present state. With 0 and 17, a run whose DAG run has ended gets a new
    attempt with another run id. A claimed or active run cannot be reset.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResetRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRun | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        n=n,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    campaign: int,
    n: int,
    *,
    client: AuthenticatedClient | Client,
    body: CampaignResetRequest,
) -> CampaignRun | Problem | None:
    """Reset a run to an earlier state

     `to` is 0 (registered: the deployment is repeated), 17 (deployed: the DAG run is repeated) or 37
    (run succeeded: the profiling is
    repeated), and not above the present state. With 0 and 17, a run whose DAG run has ended gets a new
    attempt with another run id. A claimed or active run cannot be reset.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResetRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRun | Problem
    """

    return (
        await asyncio_detailed(
            campaign=campaign,
            n=n,
            client=client,
            body=body,
        )
    ).parsed
