from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.usage_series_type_0 import UsageSeriesType0
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    task_id: str,
    *,
    run_id: str,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["run_id"] = run_id

    params["map_index"] = map_index

    params["try_number"] = try_number

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/tasks/{dag_id}/{task_id}/series".format(
            dag_id=quote(str(dag_id), safe=""),
            task_id=quote(str(task_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> None | UsageSeriesType0 | Problem:
    if response.status_code == 200:

        def _parse_response_200(data: object) -> None | UsageSeriesType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_usage_series_type_0 = UsageSeriesType0.from_dict(data)

                return componentsschemas_usage_series_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | UsageSeriesType0, data)

        response_200 = _parse_response_200(response.json())

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
) -> Response[None | UsageSeriesType0 | Problem]:
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
    run_id: str,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> Response[None | UsageSeriesType0 | Problem]:
    """Get the usage series of a try

     Returns the reported series. The answer is 404 if the try has no report, a report without a series,
    or a voided report.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        run_id (str): 1 to 250 characters except control characters. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1. Example: 4.
        try_number (int | Unset): Airflow's try number. Default: 1. Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[None | UsageSeriesType0 | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        run_id=run_id,
        map_index=map_index,
        try_number=try_number,
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
    run_id: str,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> None | UsageSeriesType0 | Problem | None:
    """Get the usage series of a try

     Returns the reported series. The answer is 404 if the try has no report, a report without a series,
    or a voided report.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        run_id (str): 1 to 250 characters except control characters. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1. Example: 4.
        try_number (int | Unset): Airflow's try number. Default: 1. Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        None | UsageSeriesType0 | Problem
    """

    return sync_detailed(
        dag_id=dag_id,
        task_id=task_id,
        client=client,
        run_id=run_id,
        map_index=map_index,
        try_number=try_number,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    run_id: str,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> Response[None | UsageSeriesType0 | Problem]:
    """Get the usage series of a try

     Returns the reported series. The answer is 404 if the try has no report, a report without a series,
    or a voided report.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        run_id (str): 1 to 250 characters except control characters. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1. Example: 4.
        try_number (int | Unset): Airflow's try number. Default: 1. Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[None | UsageSeriesType0 | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        run_id=run_id,
        map_index=map_index,
        try_number=try_number,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    run_id: str,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    namespace: str | Unset = UNSET,
) -> None | UsageSeriesType0 | Problem | None:
    """Get the usage series of a try

     Returns the reported series. The answer is 404 if the try has no report, a report without a series,
    or a voided report.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        run_id (str): 1 to 250 characters except control characters. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1. Example: 4.
        try_number (int | Unset): Airflow's try number. Default: 1. Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        None | UsageSeriesType0 | Problem
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            task_id=task_id,
            client=client,
            run_id=run_id,
            map_index=map_index,
            try_number=try_number,
            namespace=namespace,
        )
    ).parsed
