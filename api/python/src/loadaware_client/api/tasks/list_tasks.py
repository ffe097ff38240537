from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.task_page import TaskPage
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    namespace: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["namespace"] = namespace

    params["limit"] = limit

    params["cursor"] = cursor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/tasks",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | TaskPage:
    if response.status_code == 200:
        response_200 = TaskPage.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | TaskPage]:
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
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[Problem | TaskPage]:
    """List the tasks by namespace, DAG and task

     Returns one page. The list contains only tasks in the scope of the token.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | TaskPage]
    """

    kwargs = _get_kwargs(
        namespace=namespace,
        limit=limit,
        cursor=cursor,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Problem | TaskPage | None:
    """List the tasks by namespace, DAG and task

     Returns one page. The list contains only tasks in the scope of the token.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | TaskPage
    """

    return sync_detailed(
        client=client,
        namespace=namespace,
        limit=limit,
        cursor=cursor,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[Problem | TaskPage]:
    """List the tasks by namespace, DAG and task

     Returns one page. The list contains only tasks in the scope of the token.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | TaskPage]
    """

    kwargs = _get_kwargs(
        namespace=namespace,
        limit=limit,
        cursor=cursor,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Problem | TaskPage | None:
    """List the tasks by namespace, DAG and task

     Returns one page. The list contains only tasks in the scope of the token.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | TaskPage
    """

    return (
        await asyncio_detailed(
            client=client,
            namespace=namespace,
            limit=limit,
            cursor=cursor,
        )
    ).parsed
