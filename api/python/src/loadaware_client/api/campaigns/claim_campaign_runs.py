from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_claim import CampaignClaim
from ...models.campaign_claim_request import CampaignClaimRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    campaign: int,
    *,
    body: CampaignClaimRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/campaigns/{campaign}/claim".format(
            campaign=quote(str(campaign), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CampaignClaim | Problem:
    if response.status_code == 200:
        response_200 = CampaignClaim.from_dict(response.json())

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
) -> Response[CampaignClaim | Problem]:
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
    body: CampaignClaimRequest,
) -> Response[CampaignClaim | Problem]:
    """Lease runs of one branch to a worker

     Each of the steps deployment, DAG run and profiling has two branches: a trigger, which starts the
    step, and a check, which waits
    for the end of the step. A branch takes runs in one state; a trigger also changes the state:

    | branch | takes runs in the state | new state |
    |---|---|---|
    | `trigger_deploy` | 0 (registered) | 10 (deployment triggered) |
    | `check_deploy` | 11 (deploying) | 11 |
    | `trigger_run` | 17 (deployed) | 30 (run triggered) |
    | `check_run` | 31 (running) | 31 |
    | `trigger_profile` | 37 (run succeeded) | 50 (profiling triggered) |
    | `check_profile` | 51 (profiling) | 51 |

    A check gets at most `limit` runs. For a trigger, `limit` is the largest number of runs that all
    workers together may have in
    this step, from the claim by the trigger until the check reports the end of the step. If a worker
    does not report a run within its lease, the next worker gets the run.
    While the campaign is paused, triggers get no runs; while its budget is used up, `trigger_deploy`
    and `trigger_run` get no new runs. If a
    trigger returned a run to the state before the claim, the next claim of this run does not count
    again in the budget of runs.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignClaimRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignClaim | Problem]
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
    body: CampaignClaimRequest,
) -> CampaignClaim | Problem | None:
    """Lease runs of one branch to a worker

     Each of the steps deployment, DAG run and profiling has two branches: a trigger, which starts the
    step, and a check, which waits
    for the end of the step. A branch takes runs in one state; a trigger also changes the state:

    | branch | takes runs in the state | new state |
    |---|---|---|
    | `trigger_deploy` | 0 (registered) | 10 (deployment triggered) |
    | `check_deploy` | 11 (deploying) | 11 |
    | `trigger_run` | 17 (deployed) | 30 (run triggered) |
    | `check_run` | 31 (running) | 31 |
    | `trigger_profile` | 37 (run succeeded) | 50 (profiling triggered) |
    | `check_profile` | 51 (profiling) | 51 |

    A check gets at most `limit` runs. For a trigger, `limit` is the largest number of runs that all
    workers together may have in
    this step, from the claim by the trigger until the check reports the end of the step. If a worker
    does not report a run within its lease, the next worker gets the run.
    While the campaign is paused, triggers get no runs; while its budget is used up, `trigger_deploy`
    and `trigger_run` get no new runs. If a
    trigger returned a run to the state before the claim, the next claim of this run does not count
    again in the budget of runs.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignClaimRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignClaim | Problem
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
    body: CampaignClaimRequest,
) -> Response[CampaignClaim | Problem]:
    """Lease runs of one branch to a worker

     Each of the steps deployment, DAG run and profiling has two branches: a trigger, which starts the
    step, and a check, which waits
    for the end of the step. A branch takes runs in one state; a trigger also changes the state:

    | branch | takes runs in the state | new state |
    |---|---|---|
    | `trigger_deploy` | 0 (registered) | 10 (deployment triggered) |
    | `check_deploy` | 11 (deploying) | 11 |
    | `trigger_run` | 17 (deployed) | 30 (run triggered) |
    | `check_run` | 31 (running) | 31 |
    | `trigger_profile` | 37 (run succeeded) | 50 (profiling triggered) |
    | `check_profile` | 51 (profiling) | 51 |

    A check gets at most `limit` runs. For a trigger, `limit` is the largest number of runs that all
    workers together may have in
    this step, from the claim by the trigger until the check reports the end of the step. If a worker
    does not report a run within its lease, the next worker gets the run.
    While the campaign is paused, triggers get no runs; while its budget is used up, `trigger_deploy`
    and `trigger_run` get no new runs. If a
    trigger returned a run to the state before the claim, the next claim of this run does not count
    again in the budget of runs.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignClaimRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignClaim | Problem]
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
    body: CampaignClaimRequest,
) -> CampaignClaim | Problem | None:
    """Lease runs of one branch to a worker

     Each of the steps deployment, DAG run and profiling has two branches: a trigger, which starts the
    step, and a check, which waits
    for the end of the step. A branch takes runs in one state; a trigger also changes the state:

    | branch | takes runs in the state | new state |
    |---|---|---|
    | `trigger_deploy` | 0 (registered) | 10 (deployment triggered) |
    | `check_deploy` | 11 (deploying) | 11 |
    | `trigger_run` | 17 (deployed) | 30 (run triggered) |
    | `check_run` | 31 (running) | 31 |
    | `trigger_profile` | 37 (run succeeded) | 50 (profiling triggered) |
    | `check_profile` | 51 (profiling) | 51 |

    A check gets at most `limit` runs. For a trigger, `limit` is the largest number of runs that all
    workers together may have in
    this step, from the claim by the trigger until the check reports the end of the step. If a worker
    does not report a run within its lease, the next worker gets the run.
    While the campaign is paused, triggers get no runs; while its budget is used up, `trigger_deploy`
    and `trigger_run` get no new runs. If a
    trigger returned a run to the state before the claim, the next claim of this run does not count
    again in the budget of runs.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        body (CampaignClaimRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignClaim | Problem
    """

    return (
        await asyncio_detailed(
            campaign=campaign,
            client=client,
            body=body,
        )
    ).parsed
