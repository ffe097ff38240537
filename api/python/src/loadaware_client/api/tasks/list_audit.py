from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.audit_page import AuditPage
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["namespace"] = namespace

    params["dag_id"] = dag_id

    params["task_id"] = task_id

    params["limit"] = limit

    params["cursor"] = cursor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/audit",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> AuditPage | Problem:
    if response.status_code == 200:
        response_200 = AuditPage.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[AuditPage | Problem]:
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
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[AuditPage | Problem]:
    """List the audit trail, newest first

     Contains changes of policies; publications, activations, rollbacks, withdrawals and unpins of
    models; deletions and
    renames of tasks; and changes of campaigns. A change and its entry are stored in the same
    transaction. The server never
    deletes entries, not even those of deleted tasks, with one exception: of the entries about models
    that the trainer
    published, it keeps only the newest 100 of each task.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[AuditPage | Problem]
    """

    kwargs = _get_kwargs(
        namespace=namespace,
        dag_id=dag_id,
        task_id=task_id,
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
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> AuditPage | Problem | None:
    """List the audit trail, newest first

     Contains changes of policies; publications, activations, rollbacks, withdrawals and unpins of
    models; deletions and
    renames of tasks; and changes of campaigns. A change and its entry are stored in the same
    transaction. The server never
    deletes entries, not even those of deleted tasks, with one exception: of the entries about models
    that the trainer
    published, it keeps only the newest 100 of each task.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        AuditPage | Problem
    """

    return sync_detailed(
        client=client,
        namespace=namespace,
        dag_id=dag_id,
        task_id=task_id,
        limit=limit,
        cursor=cursor,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> Response[AuditPage | Problem]:
    """List the audit trail, newest first

     Contains changes of policies; publications, activations, rollbacks, withdrawals and unpins of
    models; deletions and
    renames of tasks; and changes of campaigns. A change and its entry are stored in the same
    transaction. The server never
    deletes entries, not even those of deleted tasks, with one exception: of the entries about models
    that the trainer
    published, it keeps only the newest 100 of each task.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[AuditPage | Problem]
    """

    kwargs = _get_kwargs(
        namespace=namespace,
        dag_id=dag_id,
        task_id=task_id,
        limit=limit,
        cursor=cursor,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: str | Unset = UNSET,
) -> AuditPage | Problem | None:
    """List the audit trail, newest first

     Contains changes of policies; publications, activations, rollbacks, withdrawals and unpins of
    models; deletions and
    renames of tasks; and changes of campaigns. A change and its entry are stored in the same
    transaction. The server never
    deletes entries, not even those of deleted tasks, with one exception: of the entries about models
    that the trainer
    published, it keeps only the newest 100 of each task.

    Args:
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.
        limit (int | Unset): Maximum number of entries. Default: 100. Example: 50.
        cursor (str | Unset): `next_cursor` of the previous page.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        AuditPage | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            limit=limit,
            cursor=cursor,
        )
    ).parsed
