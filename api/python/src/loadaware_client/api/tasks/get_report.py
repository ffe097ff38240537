from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.report import Report
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
    static: bool | Unset = False,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["from"] = from_

    params["to"] = to

    params["static"] = static

    params["namespace"] = namespace

    params["dag_id"] = dag_id

    params["task_id"] = task_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/report",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Report:
    if response.status_code == 200:
        response_200 = Report.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Report]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
    static: bool | Unset = False,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Response[Problem | Report]:
    """Compare the requested, granted and used memory of every task, worst first

     Lists the tasks with a try in the window, those with the largest `wasted_gbh` first. `granted_bytes`
    and `used_bytes` are means over the
    time that successful tries ran; `…_gbh` are sums of GB·h (GB = 1e9 bytes) as in `GET /savings`. With
    `static`, each task and each group also has one
    request for all runs, an upper bound of the risk that the next run exceeds this request, and the
    savings that this request
    would have made. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day, as in `GET /savings`. Example: 2020-04-01.
        to (str | Unset): The UTC day after the last one, as in `GET /savings`. Example:
            2020-05-01.
        static (bool | Unset): Add one suggested static request for each task and each group.
            Default: False. Example: True.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Report]
    """

    kwargs = _get_kwargs(
        from_=from_,
        to=to,
        static=static,
        namespace=namespace,
        dag_id=dag_id,
        task_id=task_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
    static: bool | Unset = False,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Problem | Report | None:
    """Compare the requested, granted and used memory of every task, worst first

     Lists the tasks with a try in the window, those with the largest `wasted_gbh` first. `granted_bytes`
    and `used_bytes` are means over the
    time that successful tries ran; `…_gbh` are sums of GB·h (GB = 1e9 bytes) as in `GET /savings`. With
    `static`, each task and each group also has one
    request for all runs, an upper bound of the risk that the next run exceeds this request, and the
    savings that this request
    would have made. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day, as in `GET /savings`. Example: 2020-04-01.
        to (str | Unset): The UTC day after the last one, as in `GET /savings`. Example:
            2020-05-01.
        static (bool | Unset): Add one suggested static request for each task and each group.
            Default: False. Example: True.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Report
    """

    return sync_detailed(
        client=client,
        from_=from_,
        to=to,
        static=static,
        namespace=namespace,
        dag_id=dag_id,
        task_id=task_id,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
    static: bool | Unset = False,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Response[Problem | Report]:
    """Compare the requested, granted and used memory of every task, worst first

     Lists the tasks with a try in the window, those with the largest `wasted_gbh` first. `granted_bytes`
    and `used_bytes` are means over the
    time that successful tries ran; `…_gbh` are sums of GB·h (GB = 1e9 bytes) as in `GET /savings`. With
    `static`, each task and each group also has one
    request for all runs, an upper bound of the risk that the next run exceeds this request, and the
    savings that this request
    would have made. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day, as in `GET /savings`. Example: 2020-04-01.
        to (str | Unset): The UTC day after the last one, as in `GET /savings`. Example:
            2020-05-01.
        static (bool | Unset): Add one suggested static request for each task and each group.
            Default: False. Example: True.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Report]
    """

    kwargs = _get_kwargs(
        from_=from_,
        to=to,
        static=static,
        namespace=namespace,
        dag_id=dag_id,
        task_id=task_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
    static: bool | Unset = False,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Problem | Report | None:
    """Compare the requested, granted and used memory of every task, worst first

     Lists the tasks with a try in the window, those with the largest `wasted_gbh` first. `granted_bytes`
    and `used_bytes` are means over the
    time that successful tries ran; `…_gbh` are sums of GB·h (GB = 1e9 bytes) as in `GET /savings`. With
    `static`, each task and each group also has one
    request for all runs, an upper bound of the risk that the next run exceeds this request, and the
    savings that this request
    would have made. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day, as in `GET /savings`. Example: 2020-04-01.
        to (str | Unset): The UTC day after the last one, as in `GET /savings`. Example:
            2020-05-01.
        static (bool | Unset): Add one suggested static request for each task and each group.
            Default: False. Example: True.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Report
    """

    return (
        await asyncio_detailed(
            client=client,
            from_=from_,
            to=to,
            static=static,
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
        )
    ).parsed
