from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.get_savings_by import GetSavingsBy
from ...models.problem import Problem
from ...models.savings import Savings
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
    by: GetSavingsBy | Unset = GetSavingsBy.DAG,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["from"] = from_

    params["to"] = to

    json_by: str | Unset = UNSET
    if not isinstance(by, Unset):
        json_by = by.value

    params["by"] = json_by

    params["namespace"] = namespace

    params["dag_id"] = dag_id

    params["task_id"] = task_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/savings",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Savings:
    if response.status_code == 200:
        response_200 = Savings.from_dict(response.json())

        return response_200

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Savings]:
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
    by: GetSavingsBy | Unset = GetSavingsBy.DAG,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Response[Problem | Savings]:
    """Get the savings from the ledger of all reports

     Adds up memory over time in GB·h (GB = 1e9 bytes) and CPU in core hours, from the ledger of the
    reports. The answer includes
    every acknowledged report, even if retention has removed it since, except those of reproduced runs;
    without `from` and `to` it covers all history.

    `granted_gbh` is the allocation of successful tries. `killed_gbh` is the whole allocation of OOM-
    killed attempts.
    `requested_gbh` is the memory that the successful tries would have held with the static request of
    their task.
    `saved_gbh = requested_gbh - granted_gbh - killed_gbh + no_request_gbh`, where `no_request_gbh` is
    the granted and killed
    memory of tasks whose static request is unknown. `wasted_gbh` is the unused part of grants plus
    `killed_gbh`.
    The static request of a task is the first one that a report of a first try, or a prediction request
    with a `run_id`,
    contained; it does not change. Later static requests are listed with their dates (`by=task`). If a
    report has no allocated memory, its memory request
    counts as the allocation of the try. `unaccounted_tries` are successes and kills without a duration,
    or with neither an
    allocation nor a request of memory; `unmeasured_tries` are successes without a duration or a peak.
    Tries that failed for
    other reasons count only in `tries`. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day: a date, or a time within it (RFC 3339). Example:
            2020-04-01.
        to (str | Unset): The UTC day after the last one: a date; or a time, whose day is included
            unless it is midnight. Example: 2020-05-01.
        by (GetSavingsBy | Unset): Key of the rows. The owner of a task is the `owner` of its
            newest metadata; the row of tasks without an owner has no `owner`. Default:
            GetSavingsBy.DAG. Example: task.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Savings]
    """

    kwargs = _get_kwargs(
        from_=from_,
        to=to,
        by=by,
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
    by: GetSavingsBy | Unset = GetSavingsBy.DAG,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Problem | Savings | None:
    """Get the savings from the ledger of all reports

     Adds up memory over time in GB·h (GB = 1e9 bytes) and CPU in core hours, from the ledger of the
    reports. The answer includes
    every acknowledged report, even if retention has removed it since, except those of reproduced runs;
    without `from` and `to` it covers all history.

    `granted_gbh` is the allocation of successful tries. `killed_gbh` is the whole allocation of OOM-
    killed attempts.
    `requested_gbh` is the memory that the successful tries would have held with the static request of
    their task.
    `saved_gbh = requested_gbh - granted_gbh - killed_gbh + no_request_gbh`, where `no_request_gbh` is
    the granted and killed
    memory of tasks whose static request is unknown. `wasted_gbh` is the unused part of grants plus
    `killed_gbh`.
    The static request of a task is the first one that a report of a first try, or a prediction request
    with a `run_id`,
    contained; it does not change. Later static requests are listed with their dates (`by=task`). If a
    report has no allocated memory, its memory request
    counts as the allocation of the try. `unaccounted_tries` are successes and kills without a duration,
    or with neither an
    allocation nor a request of memory; `unmeasured_tries` are successes without a duration or a peak.
    Tries that failed for
    other reasons count only in `tries`. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day: a date, or a time within it (RFC 3339). Example:
            2020-04-01.
        to (str | Unset): The UTC day after the last one: a date; or a time, whose day is included
            unless it is midnight. Example: 2020-05-01.
        by (GetSavingsBy | Unset): Key of the rows. The owner of a task is the `owner` of its
            newest metadata; the row of tasks without an owner has no `owner`. Default:
            GetSavingsBy.DAG. Example: task.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Savings
    """

    return sync_detailed(
        client=client,
        from_=from_,
        to=to,
        by=by,
        namespace=namespace,
        dag_id=dag_id,
        task_id=task_id,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
    by: GetSavingsBy | Unset = GetSavingsBy.DAG,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Response[Problem | Savings]:
    """Get the savings from the ledger of all reports

     Adds up memory over time in GB·h (GB = 1e9 bytes) and CPU in core hours, from the ledger of the
    reports. The answer includes
    every acknowledged report, even if retention has removed it since, except those of reproduced runs;
    without `from` and `to` it covers all history.

    `granted_gbh` is the allocation of successful tries. `killed_gbh` is the whole allocation of OOM-
    killed attempts.
    `requested_gbh` is the memory that the successful tries would have held with the static request of
    their task.
    `saved_gbh = requested_gbh - granted_gbh - killed_gbh + no_request_gbh`, where `no_request_gbh` is
    the granted and killed
    memory of tasks whose static request is unknown. `wasted_gbh` is the unused part of grants plus
    `killed_gbh`.
    The static request of a task is the first one that a report of a first try, or a prediction request
    with a `run_id`,
    contained; it does not change. Later static requests are listed with their dates (`by=task`). If a
    report has no allocated memory, its memory request
    counts as the allocation of the try. `unaccounted_tries` are successes and kills without a duration,
    or with neither an
    allocation nor a request of memory; `unmeasured_tries` are successes without a duration or a peak.
    Tries that failed for
    other reasons count only in `tries`. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day: a date, or a time within it (RFC 3339). Example:
            2020-04-01.
        to (str | Unset): The UTC day after the last one: a date; or a time, whose day is included
            unless it is midnight. Example: 2020-05-01.
        by (GetSavingsBy | Unset): Key of the rows. The owner of a task is the `owner` of its
            newest metadata; the row of tasks without an owner has no `owner`. Default:
            GetSavingsBy.DAG. Example: task.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Savings]
    """

    kwargs = _get_kwargs(
        from_=from_,
        to=to,
        by=by,
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
    by: GetSavingsBy | Unset = GetSavingsBy.DAG,
    namespace: str | Unset = UNSET,
    dag_id: str | Unset = UNSET,
    task_id: str | Unset = UNSET,
) -> Problem | Savings | None:
    """Get the savings from the ledger of all reports

     Adds up memory over time in GB·h (GB = 1e9 bytes) and CPU in core hours, from the ledger of the
    reports. The answer includes
    every acknowledged report, even if retention has removed it since, except those of reproduced runs;
    without `from` and `to` it covers all history.

    `granted_gbh` is the allocation of successful tries. `killed_gbh` is the whole allocation of OOM-
    killed attempts.
    `requested_gbh` is the memory that the successful tries would have held with the static request of
    their task.
    `saved_gbh = requested_gbh - granted_gbh - killed_gbh + no_request_gbh`, where `no_request_gbh` is
    the granted and killed
    memory of tasks whose static request is unknown. `wasted_gbh` is the unused part of grants plus
    `killed_gbh`.
    The static request of a task is the first one that a report of a first try, or a prediction request
    with a `run_id`,
    contained; it does not change. Later static requests are listed with their dates (`by=task`). If a
    report has no allocated memory, its memory request
    counts as the allocation of the try. `unaccounted_tries` are successes and kills without a duration,
    or with neither an
    allocation nor a request of memory; `unmeasured_tries` are successes without a duration or a peak.
    Tries that failed for
    other reasons count only in `tries`. Only tasks in the scope of the token are included.

    Args:
        from_ (str | Unset): The first UTC day: a date, or a time within it (RFC 3339). Example:
            2020-04-01.
        to (str | Unset): The UTC day after the last one: a date; or a time, whose day is included
            unless it is midnight. Example: 2020-05-01.
        by (GetSavingsBy | Unset): Key of the rows. The owner of a task is the `owner` of its
            newest metadata; the row of tasks without an owner has no `owner`. Default:
            GetSavingsBy.DAG. Example: task.
        namespace (str | Unset): Only this namespace; all if omitted. Example: default.
        dag_id (str | Unset): Only this DAG. Example: pricing.
        task_id (str | Unset): Only tasks of this name. Example: predict_demand.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Savings
    """

    return (
        await asyncio_detailed(
            client=client,
            from_=from_,
            to=to,
            by=by,
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
        )
    ).parsed
