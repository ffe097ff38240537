from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.lift import Lift
from ...models.lift_request import LiftRequest
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: LiftRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/retry-lift",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Lift | Problem:
    if response.status_code == 200:
        response_200 = Lift.from_dict(response.json())

        return response_200

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Lift | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: LiftRequest,
) -> Response[Lift | Problem]:
    """Predict the allocation after a kill

     A lift is an allocation above that of the killed try (`failed`) and at most the cap. With `retry:
    false` the verdict says
    why there is no further try. If `reason` is `oom_killed` or `app_oom` and there is no report of the
    killed try, this request counts
    as a provisional report. A stored report of the try stays as it is, also if its request, features or
    outcome differ from those of
    this request. The lift is then above both `failed` and the reported allocation. If the stored report
    is a success, the answer is 409.
    In the modes `shadow` and `off` the answer is the static request, if it is known.

    Args:
        body (LiftRequest): The request after a kill.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Lift | Problem]
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
    body: LiftRequest,
) -> Lift | Problem | None:
    """Predict the allocation after a kill

     A lift is an allocation above that of the killed try (`failed`) and at most the cap. With `retry:
    false` the verdict says
    why there is no further try. If `reason` is `oom_killed` or `app_oom` and there is no report of the
    killed try, this request counts
    as a provisional report. A stored report of the try stays as it is, also if its request, features or
    outcome differ from those of
    this request. The lift is then above both `failed` and the reported allocation. If the stored report
    is a success, the answer is 409.
    In the modes `shadow` and `off` the answer is the static request, if it is known.

    Args:
        body (LiftRequest): The request after a kill.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Lift | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: LiftRequest,
) -> Response[Lift | Problem]:
    """Predict the allocation after a kill

     A lift is an allocation above that of the killed try (`failed`) and at most the cap. With `retry:
    false` the verdict says
    why there is no further try. If `reason` is `oom_killed` or `app_oom` and there is no report of the
    killed try, this request counts
    as a provisional report. A stored report of the try stays as it is, also if its request, features or
    outcome differ from those of
    this request. The lift is then above both `failed` and the reported allocation. If the stored report
    is a success, the answer is 409.
    In the modes `shadow` and `off` the answer is the static request, if it is known.

    Args:
        body (LiftRequest): The request after a kill.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Lift | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: LiftRequest,
) -> Lift | Problem | None:
    """Predict the allocation after a kill

     A lift is an allocation above that of the killed try (`failed`) and at most the cap. With `retry:
    false` the verdict says
    why there is no further try. If `reason` is `oom_killed` or `app_oom` and there is no report of the
    killed try, this request counts
    as a provisional report. A stored report of the try stays as it is, also if its request, features or
    outcome differ from those of
    this request. The lift is then above both `failed` and the reported allocation. If the stored report
    is a success, the answer is 409.
    In the modes `shadow` and `off` the answer is the static request, if it is known.

    Args:
        body (LiftRequest): The request after a kill.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Lift | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
