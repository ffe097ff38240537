from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.usage_profile_set import UsageProfileSet
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/profiles",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | UsageProfileSet:
    if response.status_code == 200:
        response_200 = UsageProfileSet.from_dict(response.json())

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
) -> Response[Problem | UsageProfileSet]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Response[Problem | UsageProfileSet]:
    """List the usage profiles of a namespace

     A usage profile is a group of runs, of any task of the namespace, that use resources alike. Profiles
    are found within an
    hour after there are 100 runs with a known peak or an OOM kill (at most the newest 50 of each task
    count), and again when they no longer fit the runs. Profile 0 is the outlier group: runs that are
    like
    no others.

    Args:
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | UsageProfileSet]
    """

    kwargs = _get_kwargs(
        namespace=namespace,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Problem | UsageProfileSet | None:
    """List the usage profiles of a namespace

     A usage profile is a group of runs, of any task of the namespace, that use resources alike. Profiles
    are found within an
    hour after there are 100 runs with a known peak or an OOM kill (at most the newest 50 of each task
    count), and again when they no longer fit the runs. Profile 0 is the outlier group: runs that are
    like
    no others.

    Args:
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | UsageProfileSet
    """

    return sync_detailed(
        client=client,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Response[Problem | UsageProfileSet]:
    """List the usage profiles of a namespace

     A usage profile is a group of runs, of any task of the namespace, that use resources alike. Profiles
    are found within an
    hour after there are 100 runs with a known peak or an OOM kill (at most the newest 50 of each task
    count), and again when they no longer fit the runs. Profile 0 is the outlier group: runs that are
    like
    no others.

    Args:
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | UsageProfileSet]
    """

    kwargs = _get_kwargs(
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Problem | UsageProfileSet | None:
    """List the usage profiles of a namespace

     A usage profile is a group of runs, of any task of the namespace, that use resources alike. Profiles
    are found within an
    hour after there are 100 runs with a known peak or an OOM kill (at most the newest 50 of each task
    count), and again when they no longer fit the runs. Profile 0 is the outlier group: runs that are
    like
    no others.

    Args:
        namespace (str | Unset): If omitted, the only namespace of the token, or else `default`.
            Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | UsageProfileSet
    """

    return (
        await asyncio_detailed(
            client=client,
            namespace=namespace,
        )
    ).parsed
