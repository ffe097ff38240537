from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_result_request import CampaignResultRequest
from ...models.campaign_run import CampaignRun
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    campaign: int,
    n: int,
    *,
    body: CampaignResultRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/campaigns/{campaign}/runs/{n}/result".format(
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
    body: CampaignResultRequest,
) -> Response[CampaignRun | Problem]:
    """Report the new state of a claimed run

     Moves the run from the state `from` to the state `to`, and ends its lease. If the run is not in the
    state `from`, nothing changes,
    and the answer is 409. Valid changes are:

    | step | `from` | `to` |
    |---|---|---|
    | deployment | 10 (claimed by the trigger) | 11 (running), 15 (failed), or 0 (not started) |
    | deployment | 11 (running) | 15 (failed), 17 (succeeded), or 11 (still running) |
    | DAG run | 30 (claimed by the trigger) | 31 (running), 35 (failed), or 17 (not started) |
    | DAG run | 31 (running) | 35 (failed), 37 (succeeded), or 31 (still running) |
    | profiling | 50 (claimed by the trigger) | 51 (running), 55 (failed), or 37 (not started) |
    | profiling | 51 (running) | 55 (failed), 57 (succeeded), or 51 (still running) |

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResultRequest):

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
    body: CampaignResultRequest,
) -> CampaignRun | Problem | None:
    """Report the new state of a claimed run

     Moves the run from the state `from` to the state `to`, and ends its lease. If the run is not in the
    state `from`, nothing changes,
    and the answer is 409. Valid changes are:

    | step | `from` | `to` |
    |---|---|---|
    | deployment | 10 (claimed by the trigger) | 11 (running), 15 (failed), or 0 (not started) |
    | deployment | 11 (running) | 15 (failed), 17 (succeeded), or 11 (still running) |
    | DAG run | 30 (claimed by the trigger) | 31 (running), 35 (failed), or 17 (not started) |
    | DAG run | 31 (running) | 35 (failed), 37 (succeeded), or 31 (still running) |
    | profiling | 50 (claimed by the trigger) | 51 (running), 55 (failed), or 37 (not started) |
    | profiling | 51 (running) | 55 (failed), 57 (succeeded), or 51 (still running) |

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResultRequest):

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
    body: CampaignResultRequest,
) -> Response[CampaignRun | Problem]:
    """Report the new state of a claimed run

     Moves the run from the state `from` to the state `to`, and ends its lease. If the run is not in the
    state `from`, nothing changes,
    and the answer is 409. Valid changes are:

    | step | `from` | `to` |
    |---|---|---|
    | deployment | 10 (claimed by the trigger) | 11 (running), 15 (failed), or 0 (not started) |
    | deployment | 11 (running) | 15 (failed), 17 (succeeded), or 11 (still running) |
    | DAG run | 30 (claimed by the trigger) | 31 (running), 35 (failed), or 17 (not started) |
    | DAG run | 31 (running) | 35 (failed), 37 (succeeded), or 31 (still running) |
    | profiling | 50 (claimed by the trigger) | 51 (running), 55 (failed), or 37 (not started) |
    | profiling | 51 (running) | 55 (failed), 57 (succeeded), or 51 (still running) |

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResultRequest):

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
    body: CampaignResultRequest,
) -> CampaignRun | Problem | None:
    """Report the new state of a claimed run

     Moves the run from the state `from` to the state `to`, and ends its lease. If the run is not in the
    state `from`, nothing changes,
    and the answer is 409. Valid changes are:

    | step | `from` | `to` |
    |---|---|---|
    | deployment | 10 (claimed by the trigger) | 11 (running), 15 (failed), or 0 (not started) |
    | deployment | 11 (running) | 15 (failed), 17 (succeeded), or 11 (still running) |
    | DAG run | 30 (claimed by the trigger) | 31 (running), 35 (failed), or 17 (not started) |
    | DAG run | 31 (running) | 35 (failed), 37 (succeeded), or 31 (still running) |
    | profiling | 50 (claimed by the trigger) | 51 (running), 55 (failed), or 37 (not started) |
    | profiling | 51 (running) | 55 (failed), 57 (succeeded), or 51 (still running) |

    Args:
        campaign (int): The id of the campaign. Example: 1.
        n (int): The number of the run. Example: 1.
        body (CampaignResultRequest):

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
