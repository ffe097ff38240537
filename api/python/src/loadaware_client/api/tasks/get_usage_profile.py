from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.usage_profile_detail import UsageProfileDetail
from ...types import UNSET, Response, Unset


def _get_kwargs(
    profile_id: int,
    *,
    limit: int | Unset = 100,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["limit"] = limit

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/profiles/{profile_id}".format(
            profile_id=quote(str(profile_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | UsageProfileDetail:
    if response.status_code == 200:
        response_200 = UsageProfileDetail.from_dict(response.json())

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
) -> Response[Problem | UsageProfileDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    profile_id: int,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    namespace: str | Unset = UNSET,
) -> Response[Problem | UsageProfileDetail]:
    """Describe a usage profile and list its tasks

     A profile keeps its id in later versions as long as at least a quarter of the runs of both versions
    are in both. Id 0 is the outlier group. The members are the tasks in the scope of the token.

    Args:
        profile_id (int): Id of a profile; 0 for the outlier group. Example: 1.
        limit (int | Unset): Largest number of members. Default: 100. Example: 50.
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | UsageProfileDetail]
    """

    kwargs = _get_kwargs(
        profile_id=profile_id,
        limit=limit,
        namespace=namespace,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    profile_id: int,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    namespace: str | Unset = UNSET,
) -> Problem | UsageProfileDetail | None:
    """Describe a usage profile and list its tasks

     A profile keeps its id in later versions as long as at least a quarter of the runs of both versions
    are in both. Id 0 is the outlier group. The members are the tasks in the scope of the token.

    Args:
        profile_id (int): Id of a profile; 0 for the outlier group. Example: 1.
        limit (int | Unset): Largest number of members. Default: 100. Example: 50.
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | UsageProfileDetail
    """

    return sync_detailed(
        profile_id=profile_id,
        client=client,
        limit=limit,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    profile_id: int,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    namespace: str | Unset = UNSET,
) -> Response[Problem | UsageProfileDetail]:
    """Describe a usage profile and list its tasks

     A profile keeps its id in later versions as long as at least a quarter of the runs of both versions
    are in both. Id 0 is the outlier group. The members are the tasks in the scope of the token.

    Args:
        profile_id (int): Id of a profile; 0 for the outlier group. Example: 1.
        limit (int | Unset): Largest number of members. Default: 100. Example: 50.
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | UsageProfileDetail]
    """

    kwargs = _get_kwargs(
        profile_id=profile_id,
        limit=limit,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    profile_id: int,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    namespace: str | Unset = UNSET,
) -> Problem | UsageProfileDetail | None:
    """Describe a usage profile and list its tasks

     A profile keeps its id in later versions as long as at least a quarter of the runs of both versions
    are in both. Id 0 is the outlier group. The members are the tasks in the scope of the token.

    Args:
        profile_id (int): Id of a profile; 0 for the outlier group. Example: 1.
        limit (int | Unset): Largest number of members. Default: 100. Example: 50.
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | UsageProfileDetail
    """

    return (
        await asyncio_detailed(
            profile_id=profile_id,
            client=client,
            limit=limit,
            namespace=namespace,
        )
    ).parsed
