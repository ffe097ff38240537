from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.dag_forecast import DagForecast
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    *,
    seed: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["seed"] = seed

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/dags/{dag_id}/forecast".format(
            dag_id=quote(str(dag_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> DagForecast | Problem:
    if response.status_code == 200:
        response_200 = DagForecast.from_dict(response.json())

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
) -> Response[DagForecast | Problem]:
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
    seed: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> Response[DagForecast | Problem]:
    """Forecast a run of a DAG

     Draws the run time of every task, follows the dependencies of `PUT /dags/{dag_id}/structure`, and
    adds up the
    memory that running tasks are granted. Every query parameter that is not listed below is a feature
    of the run, as in
    `GET /predict`; a task whose past runs have none of these features is assumed to run like its newest
    runs. Tasks start as soon as their upstream tasks
    have ended. Past runs of the DAG correct `median_seconds` and `p95_seconds` for delays that its
    tasks have in common, for waiting times and for tasks without a known run time, and show which tasks
    a run skips.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        seed (int | Unset): Seed of the draws; equal seeds give equal answers. Default: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[DagForecast | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        seed=seed,
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
    seed: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> DagForecast | Problem | None:
    """Forecast a run of a DAG

     Draws the run time of every task, follows the dependencies of `PUT /dags/{dag_id}/structure`, and
    adds up the
    memory that running tasks are granted. Every query parameter that is not listed below is a feature
    of the run, as in
    `GET /predict`; a task whose past runs have none of these features is assumed to run like its newest
    runs. Tasks start as soon as their upstream tasks
    have ended. Past runs of the DAG correct `median_seconds` and `p95_seconds` for delays that its
    tasks have in common, for waiting times and for tasks without a known run time, and show which tasks
    a run skips.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        seed (int | Unset): Seed of the draws; equal seeds give equal answers. Default: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        DagForecast | Problem
    """

    return sync_detailed(
        dag_id=dag_id,
        client=client,
        seed=seed,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    *,
    client: AuthenticatedClient | Client,
    seed: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> Response[DagForecast | Problem]:
    """Forecast a run of a DAG

     Draws the run time of every task, follows the dependencies of `PUT /dags/{dag_id}/structure`, and
    adds up the
    memory that running tasks are granted. Every query parameter that is not listed below is a feature
    of the run, as in
    `GET /predict`; a task whose past runs have none of these features is assumed to run like its newest
    runs. Tasks start as soon as their upstream tasks
    have ended. Past runs of the DAG correct `median_seconds` and `p95_seconds` for delays that its
    tasks have in common, for waiting times and for tasks without a known run time, and show which tasks
    a run skips.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        seed (int | Unset): Seed of the draws; equal seeds give equal answers. Default: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[DagForecast | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        seed=seed,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    *,
    client: AuthenticatedClient | Client,
    seed: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> DagForecast | Problem | None:
    """Forecast a run of a DAG

     Draws the run time of every task, follows the dependencies of `PUT /dags/{dag_id}/structure`, and
    adds up the
    memory that running tasks are granted. Every query parameter that is not listed below is a feature
    of the run, as in
    `GET /predict`; a task whose past runs have none of these features is assumed to run like its newest
    runs. Tasks start as soon as their upstream tasks
    have ended. Past runs of the DAG correct `median_seconds` and `p95_seconds` for delays that its
    tasks have in common, for waiting times and for tasks without a known run time, and show which tasks
    a run skips.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        seed (int | Unset): Seed of the draws; equal seeds give equal answers. Default: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        DagForecast | Problem
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            client=client,
            seed=seed,
            namespace=namespace,
        )
    ).parsed
