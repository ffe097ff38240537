from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.prediction import Prediction
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    dag_id: str,
    task_id: str,
    namespace: str | Unset = UNSET,
    run_id: str | Unset = UNSET,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    memory: str | Unset = UNSET,
    cpu: str | Unset = UNSET,
    max_memory: str | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["dag_id"] = dag_id

    params["task_id"] = task_id

    params["namespace"] = namespace

    params["run_id"] = run_id

    params["map_index"] = map_index

    params["try_number"] = try_number

    params["memory"] = memory

    params["cpu"] = cpu

    params["max_memory"] = max_memory

    params["execution_timeout_seconds"] = execution_timeout_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/predict",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Prediction | Problem:
    if response.status_code == 200:
        response_200 = Prediction.from_dict(response.json())

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
) -> Response[Prediction | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    dag_id: str,
    task_id: str,
    namespace: str | Unset = UNSET,
    run_id: str | Unset = UNSET,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    memory: str | Unset = UNSET,
    cpu: str | Unset = UNSET,
    max_memory: str | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
) -> Response[Prediction | Problem]:
    r"""Predict the allocation from query parameters

     Every query parameter that is not listed below is a feature:
    `?dag_id=hst&task_id=calibrate&n_files=7&region=emea`.
    A number becomes a number, `true` and `false` become booleans, and an empty value is missing. The
    server reads any other value, and
    a value in double quotes, as it reads a string in `POST /predict`: `2020-01-03` is a date, and the
    number in `shop=\"42\"` keeps
    its text, so that the model can also use it as a category.
    `namespace`, `run_id`, `map_index` and `try_number` have the meaning of `POST /predict`; `memory`
    and `cpu` are
    the static request and `max_memory` is the cap, all as quantities. With `execution_timeout_seconds`
    the answer has
    the probability that the run exceeds this timeout.

    Args:
        dag_id (str): Id of the DAG. Example: pricing.
        task_id (str): Id of the task. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        run_id (str | Unset): If omitted, the request is an ad-hoc look-up and not a try. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1.
        try_number (int | Unset): Airflow's try number. Default: 1.
        memory (str | Unset): The static memory request as a quantity. Example: 350Gi.
        cpu (str | Unset): The static CPU request as a quantity. Example: 6.
        max_memory (str | Unset): Maximum allocation as a quantity, for example the memory of the
            largest node. Example: 384Gi.
        execution_timeout_seconds (float | Unset): Execution timeout of the task; the answer has
            the probability that the run exceeds it.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Prediction | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        namespace=namespace,
        run_id=run_id,
        map_index=map_index,
        try_number=try_number,
        memory=memory,
        cpu=cpu,
        max_memory=max_memory,
        execution_timeout_seconds=execution_timeout_seconds,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    dag_id: str,
    task_id: str,
    namespace: str | Unset = UNSET,
    run_id: str | Unset = UNSET,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    memory: str | Unset = UNSET,
    cpu: str | Unset = UNSET,
    max_memory: str | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
) -> Prediction | Problem | None:
    r"""Predict the allocation from query parameters

     Every query parameter that is not listed below is a feature:
    `?dag_id=hst&task_id=calibrate&n_files=7&region=emea`.
    A number becomes a number, `true` and `false` become booleans, and an empty value is missing. The
    server reads any other value, and
    a value in double quotes, as it reads a string in `POST /predict`: `2020-01-03` is a date, and the
    number in `shop=\"42\"` keeps
    its text, so that the model can also use it as a category.
    `namespace`, `run_id`, `map_index` and `try_number` have the meaning of `POST /predict`; `memory`
    and `cpu` are
    the static request and `max_memory` is the cap, all as quantities. With `execution_timeout_seconds`
    the answer has
    the probability that the run exceeds this timeout.

    Args:
        dag_id (str): Id of the DAG. Example: pricing.
        task_id (str): Id of the task. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        run_id (str | Unset): If omitted, the request is an ad-hoc look-up and not a try. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1.
        try_number (int | Unset): Airflow's try number. Default: 1.
        memory (str | Unset): The static memory request as a quantity. Example: 350Gi.
        cpu (str | Unset): The static CPU request as a quantity. Example: 6.
        max_memory (str | Unset): Maximum allocation as a quantity, for example the memory of the
            largest node. Example: 384Gi.
        execution_timeout_seconds (float | Unset): Execution timeout of the task; the answer has
            the probability that the run exceeds it.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Prediction | Problem
    """

    return sync_detailed(
        client=client,
        dag_id=dag_id,
        task_id=task_id,
        namespace=namespace,
        run_id=run_id,
        map_index=map_index,
        try_number=try_number,
        memory=memory,
        cpu=cpu,
        max_memory=max_memory,
        execution_timeout_seconds=execution_timeout_seconds,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    dag_id: str,
    task_id: str,
    namespace: str | Unset = UNSET,
    run_id: str | Unset = UNSET,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    memory: str | Unset = UNSET,
    cpu: str | Unset = UNSET,
    max_memory: str | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
) -> Response[Prediction | Problem]:
    r"""Predict the allocation from query parameters

     Every query parameter that is not listed below is a feature:
    `?dag_id=hst&task_id=calibrate&n_files=7&region=emea`.
    A number becomes a number, `true` and `false` become booleans, and an empty value is missing. The
    server reads any other value, and
    a value in double quotes, as it reads a string in `POST /predict`: `2020-01-03` is a date, and the
    number in `shop=\"42\"` keeps
    its text, so that the model can also use it as a category.
    `namespace`, `run_id`, `map_index` and `try_number` have the meaning of `POST /predict`; `memory`
    and `cpu` are
    the static request and `max_memory` is the cap, all as quantities. With `execution_timeout_seconds`
    the answer has
    the probability that the run exceeds this timeout.

    Args:
        dag_id (str): Id of the DAG. Example: pricing.
        task_id (str): Id of the task. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        run_id (str | Unset): If omitted, the request is an ad-hoc look-up and not a try. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1.
        try_number (int | Unset): Airflow's try number. Default: 1.
        memory (str | Unset): The static memory request as a quantity. Example: 350Gi.
        cpu (str | Unset): The static CPU request as a quantity. Example: 6.
        max_memory (str | Unset): Maximum allocation as a quantity, for example the memory of the
            largest node. Example: 384Gi.
        execution_timeout_seconds (float | Unset): Execution timeout of the task; the answer has
            the probability that the run exceeds it.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Prediction | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        namespace=namespace,
        run_id=run_id,
        map_index=map_index,
        try_number=try_number,
        memory=memory,
        cpu=cpu,
        max_memory=max_memory,
        execution_timeout_seconds=execution_timeout_seconds,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    dag_id: str,
    task_id: str,
    namespace: str | Unset = UNSET,
    run_id: str | Unset = UNSET,
    map_index: int | Unset = -1,
    try_number: int | Unset = 1,
    memory: str | Unset = UNSET,
    cpu: str | Unset = UNSET,
    max_memory: str | Unset = UNSET,
    execution_timeout_seconds: float | Unset = UNSET,
) -> Prediction | Problem | None:
    r"""Predict the allocation from query parameters

     Every query parameter that is not listed below is a feature:
    `?dag_id=hst&task_id=calibrate&n_files=7&region=emea`.
    A number becomes a number, `true` and `false` become booleans, and an empty value is missing. The
    server reads any other value, and
    a value in double quotes, as it reads a string in `POST /predict`: `2020-01-03` is a date, and the
    number in `shop=\"42\"` keeps
    its text, so that the model can also use it as a category.
    `namespace`, `run_id`, `map_index` and `try_number` have the meaning of `POST /predict`; `memory`
    and `cpu` are
    the static request and `max_memory` is the cap, all as quantities. With `execution_timeout_seconds`
    the answer has
    the probability that the run exceeds this timeout.

    Args:
        dag_id (str): Id of the DAG. Example: pricing.
        task_id (str): Id of the task. Example: predict_demand.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.
        run_id (str | Unset): If omitted, the request is an ad-hoc look-up and not a try. Example:
            emea__2020-04-12__017.
        map_index (int | Unset): Index of a mapped task; -1 for a task that is not mapped.
            Default: -1.
        try_number (int | Unset): Airflow's try number. Default: 1.
        memory (str | Unset): The static memory request as a quantity. Example: 350Gi.
        cpu (str | Unset): The static CPU request as a quantity. Example: 6.
        max_memory (str | Unset): Maximum allocation as a quantity, for example the memory of the
            largest node. Example: 384Gi.
        execution_timeout_seconds (float | Unset): Execution timeout of the task; the answer has
            the probability that the run exceeds it.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Prediction | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            dag_id=dag_id,
            task_id=task_id,
            namespace=namespace,
            run_id=run_id,
            map_index=map_index,
            try_number=try_number,
            memory=memory,
            cpu=cpu,
            max_memory=max_memory,
            execution_timeout_seconds=execution_timeout_seconds,
        )
    ).parsed
