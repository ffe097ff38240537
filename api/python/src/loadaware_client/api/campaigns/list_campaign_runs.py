from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.campaign_run_page import CampaignRunPage
from ...models.campaign_state import CampaignState
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    campaign: int,
    *,
    state: CampaignState | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_state: int | Unset = UNSET
    if not isinstance(state, Unset):
        json_state = state.value

    params["state"] = json_state

    params["limit"] = limit

    params["cursor"] = cursor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/campaigns/{campaign}/runs".format(
            campaign=quote(str(campaign), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CampaignRunPage | Problem:
    if response.status_code == 200:
        response_200 = CampaignRunPage.from_dict(response.json())

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
) -> Response[CampaignRunPage | Problem]:
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
    state: CampaignState | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[CampaignRunPage | Problem]:
    """List the runs of a campaign by number

     Lists all runs, or only the runs in `state`.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        state (CampaignState | Unset): 0: registered. Deployment: 10 claimed by a trigger, 11
            running, 15 failed, 17 succeeded. DAG run: 30 claimed by a trigger, 31 running, 35 failed,
            37 succeeded. Profiling: 50 claimed by a trigger, 51 running, 55 failed, 57 succeeded.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRunPage | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        state=state,
        limit=limit,
        cursor=cursor,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    state: CampaignState | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> CampaignRunPage | Problem | None:
    """List the runs of a campaign by number

     Lists all runs, or only the runs in `state`.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        state (CampaignState | Unset): 0: registered. Deployment: 10 claimed by a trigger, 11
            running, 15 failed, 17 succeeded. DAG run: 30 claimed by a trigger, 31 running, 35 failed,
            37 succeeded. Profiling: 50 claimed by a trigger, 51 running, 55 failed, 57 succeeded.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRunPage | Problem
    """

    return sync_detailed(
        campaign=campaign,
        client=client,
        state=state,
        limit=limit,
        cursor=cursor,
    ).parsed


async def asyncio_detailed(
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    state: CampaignState | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[CampaignRunPage | Problem]:
    """List the runs of a campaign by number

     Lists all runs, or only the runs in `state`.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        state (CampaignState | Unset): 0: registered. Deployment: 10 claimed by a trigger, 11
            running, 15 failed, 17 succeeded. DAG run: 30 claimed by a trigger, 31 running, 35 failed,
            37 succeeded. Profiling: 50 claimed by a trigger, 51 running, 55 failed, 57 succeeded.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[CampaignRunPage | Problem]
    """

    kwargs = _get_kwargs(
        campaign=campaign,
        state=state,
        limit=limit,
        cursor=cursor,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    campaign: int,
    *,
    client: AuthenticatedClient | Client,
    state: CampaignState | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> CampaignRunPage | Problem | None:
    """List the runs of a campaign by number

     Lists all runs, or only the runs in `state`.

    Args:
        campaign (int): The id of the campaign. Example: 1.
        state (CampaignState | Unset): 0: registered. Deployment: 10 claimed by a trigger, 11
            running, 15 failed, 17 succeeded. DAG run: 30 claimed by a trigger, 31 running, 35 failed,
            37 succeeded. Profiling: 50 claimed by a trigger, 51 running, 55 failed, 57 succeeded.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        CampaignRunPage | Problem
    """

    return (
        await asyncio_detailed(
            campaign=campaign,
            client=client,
            state=state,
            limit=limit,
            cursor=cursor,
        )
    ).parsed
