from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.run_time import RunTime
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    task_id: str,
    *,
    risk: float | Unset = 0.01,
    elapsed_seconds: float | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["risk"] = risk

    params["elapsed_seconds"] = elapsed_seconds

    params["execution_timeout_seconds"] = execution_timeout_seconds

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/tasks/{dag_id}/{task_id}/runtime".format(
            dag_id=quote(str(dag_id), safe=""),
            task_id=quote(str(task_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | RunTime:
    if response.status_code == 200:
        response_200 = RunTime.from_dict(response.json())

        return response_200

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | RunTime]:
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
    risk: float | Unset = 0.01,
    elapsed_seconds: float | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Response[Problem | RunTime]:
    """Describe the run times of a task and suggest an execution timeout

     Every query parameter that is not listed below is a feature of one try, as in `GET /predict`.
    Without features the
    answer is about tries like the task's newest runs. `newest`, `histogram` and `shapes` are about
    ratios: each run time
    divided by the prediction that the model made before it learned the run, after one second is added
    to both. A try that was stopped after
    one to three times the predicted median counts as a run that would have taken longer. All other runs
    are successes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        risk (float | Unset): Share of healthy runs (runs that work normally) that the suggested
            timeout may stop. Default: 0.01.
        elapsed_seconds (float | Unset): Time for which a try has run; adds its remaining time to
            the answer.
        execution_timeout_seconds (float | Unset): The timeout in use; adds the probability that a
            run exceeds it to the answer.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | RunTime]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        risk=risk,
        elapsed_seconds=elapsed_seconds,
        execution_timeout_seconds=execution_timeout_seconds,
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
    risk: float | Unset = 0.01,
    elapsed_seconds: float | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Problem | RunTime | None:
    """Describe the run times of a task and suggest an execution timeout

     Every query parameter that is not listed below is a feature of one try, as in `GET /predict`.
    Without features the
    answer is about tries like the task's newest runs. `newest`, `histogram` and `shapes` are about
    ratios: each run time
    divided by the prediction that the model made before it learned the run, after one second is added
    to both. A try that was stopped after
    one to three times the predicted median counts as a run that would have taken longer. All other runs
    are successes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        risk (float | Unset): Share of healthy runs (runs that work normally) that the suggested
            timeout may stop. Default: 0.01.
        elapsed_seconds (float | Unset): Time for which a try has run; adds its remaining time to
            the answer.
        execution_timeout_seconds (float | Unset): The timeout in use; adds the probability that a
            run exceeds it to the answer.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | RunTime
    """

    return sync_detailed(
        dag_id=dag_id,
        task_id=task_id,
        client=client,
        risk=risk,
        elapsed_seconds=elapsed_seconds,
        execution_timeout_seconds=execution_timeout_seconds,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    risk: float | Unset = 0.01,
    elapsed_seconds: float | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Response[Problem | RunTime]:
    """Describe the run times of a task and suggest an execution timeout

     Every query parameter that is not listed below is a feature of one try, as in `GET /predict`.
    Without features the
    answer is about tries like the task's newest runs. `newest`, `histogram` and `shapes` are about
    ratios: each run time
    divided by the prediction that the model made before it learned the run, after one second is added
    to both. A try that was stopped after
    one to three times the predicted median counts as a run that would have taken longer. All other runs
    are successes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        risk (float | Unset): Share of healthy runs (runs that work normally) that the suggested
            timeout may stop. Default: 0.01.
        elapsed_seconds (float | Unset): Time for which a try has run; adds its remaining time to
            the answer.
        execution_timeout_seconds (float | Unset): The timeout in use; adds the probability that a
            run exceeds it to the answer.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | RunTime]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        risk=risk,
        elapsed_seconds=elapsed_seconds,
        execution_timeout_seconds=execution_timeout_seconds,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    risk: float | Unset = 0.01,
    elapsed_seconds: float | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Problem | RunTime | None:
    """Describe the run times of a task and suggest an execution timeout

     Every query parameter that is not listed below is a feature of one try, as in `GET /predict`.
    Without features the
    answer is about tries like the task's newest runs. `newest`, `histogram` and `shapes` are about
    ratios: each run time
    divided by the prediction that the model made before it learned the run, after one second is added
    to both. A try that was stopped after
    one to three times the predicted median counts as a run that would have taken longer. All other runs
    are successes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        risk (float | Unset): Share of healthy runs (runs that work normally) that the suggested
            timeout may stop. Default: 0.01.
        elapsed_seconds (float | Unset): Time for which a try has run; adds its remaining time to
            the answer.
        execution_timeout_seconds (float | Unset): The timeout in use; adds the probability that a
            run exceeds it to the answer.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | RunTime
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            task_id=task_id,
            client=client,
            risk=risk,
            elapsed_seconds=elapsed_seconds,
            execution_timeout_seconds=execution_timeout_seconds,
            namespace=namespace,
        )
    ).parsed
