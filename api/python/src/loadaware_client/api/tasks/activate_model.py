from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.activated import Activated
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dag_id: str,
    task_id: str,
    version: int,
    *,
    namespace: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["namespace"] = namespace

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/tasks/{dag_id}/{task_id}/models/{version}/activate".format(
            dag_id=quote(str(dag_id), safe=""),
            task_id=quote(str(task_id), safe=""),
            version=quote(str(version), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Activated | Problem:
    if response.status_code == 200:
        response_200 = Activated.from_dict(response.json())

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


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Activated | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    dag_id: str,
    task_id: str,
    version: int,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Response[Activated | Problem]:
    """Activate and pin a stored version (rollback)

     The version stays active until it is unpinned (`DELETE …/pin`) or another version is activated;
    trainings do not
    replace it. Its margins continue to learn from reports, as in every model.

    The service also rolls back automatically. Before every training it compares the promised risk of
    the active model with the
    actual kills; an OOM kill, except in a reproduced run, causes a training. If clearly more tries were
    killed than promised, and the
    grants of an earlier version would have been enough for clearly more of them, the service activates
    that version, even
    if the active one is pinned, and withdraws the versions whose grants led to too many kills. A pin by
    `watchdog` ends when a newer model wins an evaluation against the pinned one. `GET /audit` lists
    these changes. A withdrawn version may be activated again; the service then compares only the
    promises of later answers with the kills.

    The server rejects a version that it cannot load with 409, and nothing changes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        version (int):  Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Activated | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        version=version,
        namespace=namespace,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    dag_id: str,
    task_id: str,
    version: int,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Activated | Problem | None:
    """Activate and pin a stored version (rollback)

     The version stays active until it is unpinned (`DELETE …/pin`) or another version is activated;
    trainings do not
    replace it. Its margins continue to learn from reports, as in every model.

    The service also rolls back automatically. Before every training it compares the promised risk of
    the active model with the
    actual kills; an OOM kill, except in a reproduced run, causes a training. If clearly more tries were
    killed than promised, and the
    grants of an earlier version would have been enough for clearly more of them, the service activates
    that version, even
    if the active one is pinned, and withdraws the versions whose grants led to too many kills. A pin by
    `watchdog` ends when a newer model wins an evaluation against the pinned one. `GET /audit` lists
    these changes. A withdrawn version may be activated again; the service then compares only the
    promises of later answers with the kills.

    The server rejects a version that it cannot load with 409, and nothing changes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        version (int):  Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Activated | Problem
    """

    return sync_detailed(
        dag_id=dag_id,
        task_id=task_id,
        version=version,
        client=client,
        namespace=namespace,
    ).parsed


async def asyncio_detailed(
    dag_id: str,
    task_id: str,
    version: int,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Response[Activated | Problem]:
    """Activate and pin a stored version (rollback)

     The version stays active until it is unpinned (`DELETE …/pin`) or another version is activated;
    trainings do not
    replace it. Its margins continue to learn from reports, as in every model.

    The service also rolls back automatically. Before every training it compares the promised risk of
    the active model with the
    actual kills; an OOM kill, except in a reproduced run, causes a training. If clearly more tries were
    killed than promised, and the
    grants of an earlier version would have been enough for clearly more of them, the service activates
    that version, even
    if the active one is pinned, and withdraws the versions whose grants led to too many kills. A pin by
    `watchdog` ends when a newer model wins an evaluation against the pinned one. `GET /audit` lists
    these changes. A withdrawn version may be activated again; the service then compares only the
    promises of later answers with the kills.

    The server rejects a version that it cannot load with 409, and nothing changes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        version (int):  Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Activated | Problem]
    """

    kwargs = _get_kwargs(
        dag_id=dag_id,
        task_id=task_id,
        version=version,
        namespace=namespace,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dag_id: str,
    task_id: str,
    version: int,
    *,
    client: AuthenticatedClient | Client,
    namespace: str | Unset = UNSET,
) -> Activated | Problem | None:
    """Activate and pin a stored version (rollback)

     The version stays active until it is unpinned (`DELETE …/pin`) or another version is activated;
    trainings do not
    replace it. Its margins continue to learn from reports, as in every model.

    The service also rolls back automatically. Before every training it compares the promised risk of
    the active model with the
    actual kills; an OOM kill, except in a reproduced run, causes a training. If clearly more tries were
    killed than promised, and the
    grants of an earlier version would have been enough for clearly more of them, the service activates
    that version, even
    if the active one is pinned, and withdraws the versions whose grants led to too many kills. A pin by
    `watchdog` ends when a newer model wins an evaluation against the pinned one. `GET /audit` lists
    these changes. A withdrawn version may be activated again; the service then compares only the
    promises of later answers with the kills.

    The server rejects a version that it cannot load with 409, and nothing changes.

    Args:
        dag_id (str): Id of the DAG. A caller that writes the path itself must percent-encode it.
            Example: pricing.
        task_id (str): Id of the task. A caller that writes the path itself must percent-encode
            it. Example: predict_demand.
        version (int):  Example: 1.
        namespace (str | Unset): The namespace; `default` if omitted. Example: default.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Activated | Problem
    """

    return (
        await asyncio_detailed(
            dag_id=dag_id,
            task_id=task_id,
            version=version,
            client=client,
            namespace=namespace,
        )
    ).parsed
