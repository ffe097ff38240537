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

     A branch is a trigger, which starts one of the steps deployment, DAG run and profiling, or a check,
    which waits for the
    end of the step.
    `trigger_deploy`, `trigger_run` and `trigger_profile` take runs in the states 0, 17 and 37, and give
    them the states 10, 30
    and 50. For them `limit` is the parallelism of all workers together: runs of the branch that are
    already claimed or active count, too.
    `check_deploy`, `check_run` and `check_profile` take runs in the states 11, 31 and 51, at most
    `limit`. A run that is not
    reported within its lease is given to the next worker. While the campaign is paused, triggers
    get no runs; while its budget is used up, `trigger_deploy` and `trigger_run` get no new runs. A run
    that a trigger
    returned to the state before the claim keeps its place in the budget of runs.

    Args:
        campaign (int):
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

     A branch is a trigger, which starts one of the steps deployment, DAG run and profiling, or a check,
    which waits for the
    end of the step.
    `trigger_deploy`, `trigger_run` and `trigger_profile` take runs in the states 0, 17 and 37, and give
    them the states 10, 30
    and 50. For them `limit` is the parallelism of all workers together: runs of the branch that are
    already claimed or active count, too.
    `check_deploy`, `check_run` and `check_profile` take runs in the states 11, 31 and 51, at most
    `limit`. A run that is not
    reported within its lease is given to the next worker. While the campaign is paused, triggers
    get no runs; while its budget is used up, `trigger_deploy` and `trigger_run` get no new runs. A run
    that a trigger
    returned to the state before the claim keeps its place in the budget of runs.

    Args:
        campaign (int):
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

     A branch is a trigger, which starts one of the steps deployment, DAG run and profiling, or a check,
    which waits for the
    end of the step.
    `trigger_deploy`, `trigger_run` and `trigger_profile` take runs in the states 0, 17 and 37, and give
    them the states 10, 30
    and 50. For them `limit` is the parallelism of all workers together: runs of the branch that are
    already claimed or active count, too.
    `check_deploy`, `check_run` and `check_profile` take runs in the states 11, 31 and 51, at most
    `limit`. A run that is not
    reported within its lease is given to the next worker. While the campaign is paused, triggers
    get no runs; while its budget is used up, `trigger_deploy` and `trigger_run` get no new runs. A run
    that a trigger
    returned to the state before the claim keeps its place in the budget of runs.

    Args:
        campaign (int):
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

     A branch is a trigger, which starts one of the steps deployment, DAG run and profiling, or a check,
    which waits for the
    end of the step.
    `trigger_deploy`, `trigger_run` and `trigger_profile` take runs in the states 0, 17 and 37, and give
    them the states 10, 30
    and 50. For them `limit` is the parallelism of all workers together: runs of the branch that are
    already claimed or active count, too.
    `check_deploy`, `check_run` and `check_profile` take runs in the states 11, 31 and 51, at most
    `limit`. A run that is not
    reported within its lease is given to the next worker. While the campaign is paused, triggers
    get no runs; while its budget is used up, `trigger_deploy` and `trigger_run` get no new runs. A run
    that a trigger
    returned to the state before the claim keeps its place in the budget of runs.

    Args:
        campaign (int):
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
