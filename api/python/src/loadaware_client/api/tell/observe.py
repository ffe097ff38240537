from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.observation import Observation
from ...models.problem import Problem
from ...models.recorded import Recorded
from ...types import Response


def _get_kwargs(
    *,
    body: Observation,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/observe",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Recorded:
    if response.status_code == 200:
        response_200 = Recorded.from_dict(response.json())

        return response_200

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Recorded]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: Observation,
) -> Response[Problem | Recorded]:
    """Report the usage and outcome of a try

     The server answers after the report is committed. An identical report of the same try is a
    `duplicate` without a
    second effect. A later report may add fields that were unknown (`amended`). If a report contradicts
    an earlier one of the
    same try, the server rejects it with 409. There are two exceptions. A provisional `oom_killed`
    explains a failure (see
    `provisional`). And a report that is not provisional replaces a provisional one, such as a kill that
    is known only
    from `POST /retry-lift` (`amended`).
    Another `prediction_id` is no contradiction: the try keeps the first one, and the answer contains a
    warning.

    A DAG run that was deleted and created again repeats the run id and the try numbers. A report is of
    such a later execution, and
    not a contradiction, if the reported try started at least a minute after the stored one ended, and
    if its peak differs or it was
    predicted at least a minute after this end. The stored tries of the run then get the run id
    `<run_id> (execution 1)`, and so does a late report of an earlier
    execution. The answer contains a warning. If the start of the try is not reported, the time of its
    newest prediction counts as its start.

    An `oom_killed` without `memory_max_bytes` means that the peak was at least the allocation.
    `features` may be
    omitted if the try has a prediction, or if another try of its run has a prediction or an earlier
    report with features; the models
    then learn these features. If a report has features, the models learn these. So a value that is
    known only after the run, such as an exact count that was estimated before, does not belong
    in a report: the models would learn from exact values and predict from estimates, and kills would
    exceed the promised risk. A try keeps its first `usage_series`, `detailed_series` and
    `executed_plan`:
    a later report may add those that are missing (`amended`). The server ignores another value of such
    a field if it is stored already, except
    that a `detailed_series` with shorter steps replaces the stored one.

    The server also stores a report with implausible values; the answer then contains warnings. A peak
    that is too far from
    all data of the task changes no predicted peak until a second report confirms it.

    Args:
        body (Observation): The usage and outcome of one try.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Recorded]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: Observation,
) -> Problem | Recorded | None:
    """Report the usage and outcome of a try

     The server answers after the report is committed. An identical report of the same try is a
    `duplicate` without a
    second effect. A later report may add fields that were unknown (`amended`). If a report contradicts
    an earlier one of the
    same try, the server rejects it with 409. There are two exceptions. A provisional `oom_killed`
    explains a failure (see
    `provisional`). And a report that is not provisional replaces a provisional one, such as a kill that
    is known only
    from `POST /retry-lift` (`amended`).
    Another `prediction_id` is no contradiction: the try keeps the first one, and the answer contains a
    warning.

    A DAG run that was deleted and created again repeats the run id and the try numbers. A report is of
    such a later execution, and
    not a contradiction, if the reported try started at least a minute after the stored one ended, and
    if its peak differs or it was
    predicted at least a minute after this end. The stored tries of the run then get the run id
    `<run_id> (execution 1)`, and so does a late report of an earlier
    execution. The answer contains a warning. If the start of the try is not reported, the time of its
    newest prediction counts as its start.

    An `oom_killed` without `memory_max_bytes` means that the peak was at least the allocation.
    `features` may be
    omitted if the try has a prediction, or if another try of its run has a prediction or an earlier
    report with features; the models
    then learn these features. If a report has features, the models learn these. So a value that is
    known only after the run, such as an exact count that was estimated before, does not belong
    in a report: the models would learn from exact values and predict from estimates, and kills would
    exceed the promised risk. A try keeps its first `usage_series`, `detailed_series` and
    `executed_plan`:
    a later report may add those that are missing (`amended`). The server ignores another value of such
    a field if it is stored already, except
    that a `detailed_series` with shorter steps replaces the stored one.

    The server also stores a report with implausible values; the answer then contains warnings. A peak
    that is too far from
    all data of the task changes no predicted peak until a second report confirms it.

    Args:
        body (Observation): The usage and outcome of one try.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Recorded
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: Observation,
) -> Response[Problem | Recorded]:
    """Report the usage and outcome of a try

     The server answers after the report is committed. An identical report of the same try is a
    `duplicate` without a
    second effect. A later report may add fields that were unknown (`amended`). If a report contradicts
    an earlier one of the
    same try, the server rejects it with 409. There are two exceptions. A provisional `oom_killed`
    explains a failure (see
    `provisional`). And a report that is not provisional replaces a provisional one, such as a kill that
    is known only
    from `POST /retry-lift` (`amended`).
    Another `prediction_id` is no contradiction: the try keeps the first one, and the answer contains a
    warning.

    A DAG run that was deleted and created again repeats the run id and the try numbers. A report is of
    such a later execution, and
    not a contradiction, if the reported try started at least a minute after the stored one ended, and
    if its peak differs or it was
    predicted at least a minute after this end. The stored tries of the run then get the run id
    `<run_id> (execution 1)`, and so does a late report of an earlier
    execution. The answer contains a warning. If the start of the try is not reported, the time of its
    newest prediction counts as its start.

    An `oom_killed` without `memory_max_bytes` means that the peak was at least the allocation.
    `features` may be
    omitted if the try has a prediction, or if another try of its run has a prediction or an earlier
    report with features; the models
    then learn these features. If a report has features, the models learn these. So a value that is
    known only after the run, such as an exact count that was estimated before, does not belong
    in a report: the models would learn from exact values and predict from estimates, and kills would
    exceed the promised risk. A try keeps its first `usage_series`, `detailed_series` and
    `executed_plan`:
    a later report may add those that are missing (`amended`). The server ignores another value of such
    a field if it is stored already, except
    that a `detailed_series` with shorter steps replaces the stored one.

    The server also stores a report with implausible values; the answer then contains warnings. A peak
    that is too far from
    all data of the task changes no predicted peak until a second report confirms it.

    Args:
        body (Observation): The usage and outcome of one try.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Recorded]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: Observation,
) -> Problem | Recorded | None:
    """Report the usage and outcome of a try

     The server answers after the report is committed. An identical report of the same try is a
    `duplicate` without a
    second effect. A later report may add fields that were unknown (`amended`). If a report contradicts
    an earlier one of the
    same try, the server rejects it with 409. There are two exceptions. A provisional `oom_killed`
    explains a failure (see
    `provisional`). And a report that is not provisional replaces a provisional one, such as a kill that
    is known only
    from `POST /retry-lift` (`amended`).
    Another `prediction_id` is no contradiction: the try keeps the first one, and the answer contains a
    warning.

    A DAG run that was deleted and created again repeats the run id and the try numbers. A report is of
    such a later execution, and
    not a contradiction, if the reported try started at least a minute after the stored one ended, and
    if its peak differs or it was
    predicted at least a minute after this end. The stored tries of the run then get the run id
    `<run_id> (execution 1)`, and so does a late report of an earlier
    execution. The answer contains a warning. If the start of the try is not reported, the time of its
    newest prediction counts as its start.

    An `oom_killed` without `memory_max_bytes` means that the peak was at least the allocation.
    `features` may be
    omitted if the try has a prediction, or if another try of its run has a prediction or an earlier
    report with features; the models
    then learn these features. If a report has features, the models learn these. So a value that is
    known only after the run, such as an exact count that was estimated before, does not belong
    in a report: the models would learn from exact values and predict from estimates, and kills would
    exceed the promised risk. A try keeps its first `usage_series`, `detailed_series` and
    `executed_plan`:
    a later report may add those that are missing (`amended`). The server ignores another value of such
    a field if it is stored already, except
    that a `detailed_series` with shorter steps replaces the stored one.

    The server also stores a report with implausible values; the answer then contains warnings. A peak
    that is too far from
    all data of the task changes no predicted peak until a second report confirms it.

    Args:
        body (Observation): The usage and outcome of one try.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Recorded
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
