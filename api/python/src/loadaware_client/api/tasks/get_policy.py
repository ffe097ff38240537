from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.policy import Policy
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    task_id: str,
    *,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/tasks/{dag_id}/{task_id}/policy".format(
            dag_id=quote(str(dag_id), safe=""),
            task_id=quote(str(task_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Policy | Problem:
    if response.status_code == 200:
        response_200 = Policy.from_dict(response.json())

        return response_200

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Policy | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Response[Policy | Problem]:
    """Get the policy of a task

     Returns the policy that predictions apply, with defaults for all fields that are not set.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Policy | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        namespace=namespace,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Policy | Problem | None:
    """Get the policy of a task

     Returns the policy that predictions apply, with defaults for all fields that are not set.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Policy | Problem
    """

    return sync_detailed(
        dag_id=dag_id,
        task_id=task_id,
        client=client,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Response[Policy | Problem]:
    """Get the policy of a task

     Returns the policy that predictions apply, with defaults for all fields that are not set.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Policy | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Policy | Problem | None:
    """Get the policy of a task

     Returns the policy that predictions apply, with defaults for all fields that are not set.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Policy | Problem
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            task_id=task_id,
            client=client,
            namespace=namespace,
        )
    ).parsed
