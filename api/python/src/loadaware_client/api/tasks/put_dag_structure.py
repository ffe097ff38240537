from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.dag_structure import DagStructure
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    *,
    body: DagStructure,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/dags/{dag_id}/structure".format(
            dag_id=quote(str(dag_id), safe=""),
        ),
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> DagStructure | Problem:
    if response.status_code == 200:
        response_200 = DagStructure.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[DagStructure | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    dag_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: DagStructure,
    namespace: str | Unset = UNSET,
) -> Response[DagStructure | Problem]:
    """Store the dependencies between the tasks of a DAG

     Replaces the stored structure. Send it when the DAG changes. At most 2,000 tasks and 20,000
    dependencies, without a cycle.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (DagStructure):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[DagStructure | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        body=body,
        namespace=namespace,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    dag_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: DagStructure,
    namespace: str | Unset = UNSET,
) -> DagStructure | Problem | None:
    """Store the dependencies between the tasks of a DAG

     Replaces the stored structure. Send it when the DAG changes. At most 2,000 tasks and 20,000
    dependencies, without a cycle.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (DagStructure):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        DagStructure | Problem
    """

    return sync_detailed(
        dag_id=dag_id,
        client=client,
        body=body,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: DagStructure,
    namespace: str | Unset = UNSET,
) -> Response[DagStructure | Problem]:
    """Store the dependencies between the tasks of a DAG

     Replaces the stored structure. Send it when the DAG changes. At most 2,000 tasks and 20,000
    dependencies, without a cycle.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (DagStructure):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[DagStructure | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        body=body,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: DagStructure,
    namespace: str | Unset = UNSET,
) -> DagStructure | Problem | None:
    """Store the dependencies between the tasks of a DAG

     Replaces the stored structure. Send it when the DAG changes. At most 2,000 tasks and 20,000
    dependencies, without a cycle.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        body (DagStructure):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        DagStructure | Problem
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            client=client,
            body=body,
            namespace=namespace,
        )
    ).parsed
