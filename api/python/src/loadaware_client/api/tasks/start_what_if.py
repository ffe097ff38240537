from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.what_if import WhatIf
from ...models.what_if_request import WhatIfRequest
from ...types import Response


def _get_kwargs(
    *,
    body: WhatIfRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/whatif",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | WhatIf:
    if response.status_code == 200:
        response_200 = WhatIf.from_dict(response.json())

        return response_200

    if response.status_code == 202:
        response_202 = WhatIf.from_dict(response.json())

        return response_202

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | WhatIf]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: WhatIfRequest,
) -> Response[Problem | WhatIf]:
    """Replay history with other settings

     Replays the stored history of a task or a DAG: predicts each run before learning it, once with the
    current policies and
    once with each of `settings`. A peak is learned when its run has ended, but a kill already when the
    killed try is launched: if many runs
    start together, the results have fewer kills than the server would have had. The answer waits up to
    two seconds. A longer replay continues in the background: poll its
    `Location`; a replay that no caller polls for two minutes is cancelled. A replay uses at most 200
    tasks of a DAG (the
    first in the order of their names), 20,000 runs of each task, and 60,000 runs in all. Each replica
    runs one replay at a
    time, for at most ten minutes; results stay for at least a quarter of an hour on the replica that
    computed them. With
    `set`, the answer also compares the grants that the model would give to the task's newest 300 tries
    with and without the
    replaced features. This is what the model expects, not an observed effect.

    Args:
        body (WhatIfRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | WhatIf]
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
    body: WhatIfRequest,
) -> Problem | WhatIf | None:
    """Replay history with other settings

     Replays the stored history of a task or a DAG: predicts each run before learning it, once with the
    current policies and
    once with each of `settings`. A peak is learned when its run has ended, but a kill already when the
    killed try is launched: if many runs
    start together, the results have fewer kills than the server would have had. The answer waits up to
    two seconds. A longer replay continues in the background: poll its
    `Location`; a replay that no caller polls for two minutes is cancelled. A replay uses at most 200
    tasks of a DAG (the
    first in the order of their names), 20,000 runs of each task, and 60,000 runs in all. Each replica
    runs one replay at a
    time, for at most ten minutes; results stay for at least a quarter of an hour on the replica that
    computed them. With
    `set`, the answer also compares the grants that the model would give to the task's newest 300 tries
    with and without the
    replaced features. This is what the model expects, not an observed effect.

    Args:
        body (WhatIfRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | WhatIf
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: WhatIfRequest,
) -> Response[Problem | WhatIf]:
    """Replay history with other settings

     Replays the stored history of a task or a DAG: predicts each run before learning it, once with the
    current policies and
    once with each of `settings`. A peak is learned when its run has ended, but a kill already when the
    killed try is launched: if many runs
    start together, the results have fewer kills than the server would have had. The answer waits up to
    two seconds. A longer replay continues in the background: poll its
    `Location`; a replay that no caller polls for two minutes is cancelled. A replay uses at most 200
    tasks of a DAG (the
    first in the order of their names), 20,000 runs of each task, and 60,000 runs in all. Each replica
    runs one replay at a
    time, for at most ten minutes; results stay for at least a quarter of an hour on the replica that
    computed them. With
    `set`, the answer also compares the grants that the model would give to the task's newest 300 tries
    with and without the
    replaced features. This is what the model expects, not an observed effect.

    Args:
        body (WhatIfRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | WhatIf]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: WhatIfRequest,
) -> Problem | WhatIf | None:
    """Replay history with other settings

     Replays the stored history of a task or a DAG: predicts each run before learning it, once with the
    current policies and
    once with each of `settings`. A peak is learned when its run has ended, but a kill already when the
    killed try is launched: if many runs
    start together, the results have fewer kills than the server would have had. The answer waits up to
    two seconds. A longer replay continues in the background: poll its
    `Location`; a replay that no caller polls for two minutes is cancelled. A replay uses at most 200
    tasks of a DAG (the
    first in the order of their names), 20,000 runs of each task, and 60,000 runs in all. Each replica
    runs one replay at a
    time, for at most ten minutes; results stay for at least a quarter of an hour on the replica that
    computed them. With
    `set`, the answer also compares the grants that the model would give to the task's newest 300 tries
    with and without the
    replaced features. This is what the model expects, not an observed effect.

    Args:
        body (WhatIfRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | WhatIf
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
