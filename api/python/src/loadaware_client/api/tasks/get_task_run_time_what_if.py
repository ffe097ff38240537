from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.run_time_what_if import RunTimeWhatIf
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    task_id: str,
    *,
    node_type: str | Unset = UNSET,
    from_node_type: str | Unset = UNSET,
    cluster_load: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["node_type"] = node_type

    params["from_node_type"] = from_node_type

    params["cluster_load"] = cluster_load

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/tasks/{dag_id}/{task_id}/runtime/whatif".format(
            dag_id=quote(str(dag_id), safe=""),
            task_id=quote(str(task_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | RunTimeWhatIf:
    if response.status_code == 200:
        response_200 = RunTimeWhatIf.from_dict(response.json())

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
) -> Response[Problem | RunTimeWhatIf]:
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
    node_type: str | Unset = UNSET,
    from_node_type: str | Unset = UNSET,
    cluster_load: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Response[Problem | RunTimeWhatIf]:
    """Compare the run times of a task with those after a change

     Every query parameter that is not listed below is a feature whose value replaces that of the task's
    newest runs. If the
    task does not have the feature, the answer is 422. The
    effects of node types and load are estimated from the runs of all tasks of the namespace that were
    reported with
    `node_type` or `cluster_load`. The answer is what the model expects, and no causal effect: runs on
    another node type may
    differ in other ways, too.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        node_type (str | Unset): Node type after the change. Some run of the namespace must have
            been reported with it.
        from_node_type (str | Unset): Node type before the change; if omitted, that of each run.
        cluster_load (float | Unset): Load of the cluster after the change.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | RunTimeWhatIf]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        node_type=node_type,
        from_node_type=from_node_type,
        cluster_load=cluster_load,
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
    node_type: str | Unset = UNSET,
    from_node_type: str | Unset = UNSET,
    cluster_load: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Problem | RunTimeWhatIf | None:
    """Compare the run times of a task with those after a change

     Every query parameter that is not listed below is a feature whose value replaces that of the task's
    newest runs. If the
    task does not have the feature, the answer is 422. The
    effects of node types and load are estimated from the runs of all tasks of the namespace that were
    reported with
    `node_type` or `cluster_load`. The answer is what the model expects, and no causal effect: runs on
    another node type may
    differ in other ways, too.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        node_type (str | Unset): Node type after the change. Some run of the namespace must have
            been reported with it.
        from_node_type (str | Unset): Node type before the change; if omitted, that of each run.
        cluster_load (float | Unset): Load of the cluster after the change.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | RunTimeWhatIf
    """

    return sync_detailed(
        dag_id=dag_id,
        task_id=task_id,
        client=client,
        node_type=node_type,
        from_node_type=from_node_type,
        cluster_load=cluster_load,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    node_type: str | Unset = UNSET,
    from_node_type: str | Unset = UNSET,
    cluster_load: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Response[Problem | RunTimeWhatIf]:
    """Compare the run times of a task with those after a change

     Every query parameter that is not listed below is a feature whose value replaces that of the task's
    newest runs. If the
    task does not have the feature, the answer is 422. The
    effects of node types and load are estimated from the runs of all tasks of the namespace that were
    reported with
    `node_type` or `cluster_load`. The answer is what the model expects, and no causal effect: runs on
    another node type may
    differ in other ways, too.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        node_type (str | Unset): Node type after the change. Some run of the namespace must have
            been reported with it.
        from_node_type (str | Unset): Node type before the change; if omitted, that of each run.
        cluster_load (float | Unset): Load of the cluster after the change.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | RunTimeWhatIf]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        node_type=node_type,
        from_node_type=from_node_type,
        cluster_load=cluster_load,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    task_id: str,
    *,
    client: AuthenticatedClient | Client,
    node_type: str | Unset = UNSET,
    from_node_type: str | Unset = UNSET,
    cluster_load: float | Unset = UNSET,
    namespace: str | Unset = UNSET,
) -> Problem | RunTimeWhatIf | None:
    """Compare the run times of a task with those after a change

     Every query parameter that is not listed below is a feature whose value replaces that of the task's
    newest runs. If the
    task does not have the feature, the answer is 422. The
    effects of node types and load are estimated from the runs of all tasks of the namespace that were
    reported with
    `node_type` or `cluster_load`. The answer is what the model expects, and no causal effect: runs on
    another node type may
    differ in other ways, too.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        node_type (str | Unset): Node type after the change. Some run of the namespace must have
            been reported with it.
        from_node_type (str | Unset): Node type before the change; if omitted, that of each run.
        cluster_load (float | Unset): Load of the cluster after the change.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | RunTimeWhatIf
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            task_id=task_id,
            client=client,
            node_type=node_type,
            from_node_type=from_node_type,
            cluster_load=cluster_load,
            namespace=namespace,
        )
    ).parsed
