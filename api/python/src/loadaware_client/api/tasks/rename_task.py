from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.task_key import TaskKey
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    task_id: str,
    *,
    body: TaskKey,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/tasks/{dag_id}/{task_id}/rename".format(
            dag_id=quote(str(dag_id), safe=""),
            task_id=quote(str(task_id), safe=""),
        ),
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | TaskKey:
    if response.status_code == 200:
        response_200 = TaskKey.from_dict(response.json())

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | TaskKey]:
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
    body: TaskKey,
    namespace: str | Unset = UNSET,
) -> Response[Problem | TaskKey]:
    """Rename a task

     Reports, predictions, models and policy move to the name in the body. Without `namespace` in the
    body, the task stays in its namespace. The answer is 409 if a task of that name exists, also if the
    name is the present name of the task.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (TaskKey): A task, the unit of learning.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | TaskKey]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        body=body,
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
    body: TaskKey,
    namespace: str | Unset = UNSET,
) -> Problem | TaskKey | None:
    """Rename a task

     Reports, predictions, models and policy move to the name in the body. Without `namespace` in the
    body, the task stays in its namespace. The answer is 409 if a task of that name exists, also if the
    name is the present name of the task.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (TaskKey): A task, the unit of learning.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | TaskKey
    """

    return sync_detailed(
        dag_id=dag_id,
        task_id=task_id,
        client=client,
        body=body,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: TaskKey,
    namespace: str | Unset = UNSET,
) -> Response[Problem | TaskKey]:
    """Rename a task

     Reports, predictions, models and policy move to the name in the body. Without `namespace` in the
    body, the task stays in its namespace. The answer is 409 if a task of that name exists, also if the
    name is the present name of the task.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (TaskKey): A task, the unit of learning.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | TaskKey]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        body=body,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: TaskKey,
    namespace: str | Unset = UNSET,
) -> Problem | TaskKey | None:
    """Rename a task

     Reports, predictions, models and policy move to the name in the body. Without `namespace` in the
    body, the task stays in its namespace. The answer is 409 if a task of that name exists, also if the
    name is the present name of the task.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (TaskKey): A task, the unit of learning.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | TaskKey
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            task_id=task_id,
            client=client,
            body=body,
            namespace=namespace,
        )
    ).parsed
