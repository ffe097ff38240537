from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.experiment_request import ExperimentRequest
from ...models.experiment_saved import ExperimentSaved
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: ExperimentRequest,
    dry_run: bool | Unset = False,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["dry_run"] = dry_run

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/experiments",
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> ExperimentSaved | Problem:
    if response.status_code == 200:
        response_200 = ExperimentSaved.from_dict(response.json())

        return response_200

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[ExperimentSaved | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ExperimentRequest,
    dry_run: bool | Unset = False,
) -> Response[ExperimentSaved | Problem]:
    """Save an experiment

     Stores a run of `loadaware experiment` with its models in one transaction. An existing name is a
    conflict; an
    experiment without a name is addressed by its id. A name must not be an integer.

    Args:
        dry_run (bool | Unset): Only validates the token, the name and the fields, and stores
            nothing. The answer then has no id. Default: False.
        body (ExperimentRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[ExperimentSaved | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        dry_run=dry_run,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: ExperimentRequest,
    dry_run: bool | Unset = False,
) -> ExperimentSaved | Problem | None:
    """Save an experiment

     Stores a run of `loadaware experiment` with its models in one transaction. An existing name is a
    conflict; an
    experiment without a name is addressed by its id. A name must not be an integer.

    Args:
        dry_run (bool | Unset): Only validates the token, the name and the fields, and stores
            nothing. The answer then has no id. Default: False.
        body (ExperimentRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        ExperimentSaved | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
        dry_run=dry_run,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ExperimentRequest,
    dry_run: bool | Unset = False,
) -> Response[ExperimentSaved | Problem]:
    """Save an experiment

     Stores a run of `loadaware experiment` with its models in one transaction. An existing name is a
    conflict; an
    experiment without a name is addressed by its id. A name must not be an integer.

    Args:
        dry_run (bool | Unset): Only validates the token, the name and the fields, and stores
            nothing. The answer then has no id. Default: False.
        body (ExperimentRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[ExperimentSaved | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        dry_run=dry_run,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: ExperimentRequest,
    dry_run: bool | Unset = False,
) -> ExperimentSaved | Problem | None:
    """Save an experiment

     Stores a run of `loadaware experiment` with its models in one transaction. An existing name is a
    conflict; an
    experiment without a name is addressed by its id. A name must not be an integer.

    Args:
        dry_run (bool | Unset): Only validates the token, the name and the fields, and stores
            nothing. The answer then has no id. Default: False.
        body (ExperimentRequest):

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        ExperimentSaved | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            dry_run=dry_run,
        )
    ).parsed
