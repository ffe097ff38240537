from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.experiment import Experiment
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    experiment: str,
    *,
    blobs: bool | Unset = False,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["blobs"] = blobs

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/experiments/{experiment}".format(
            experiment=quote(str(experiment), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Experiment | Problem:
    if response.status_code == 200:
        response_200 = Experiment.from_dict(response.json())

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
) -> Response[Experiment | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    experiment: str,
    *,
    client: AuthenticatedClient | Client,
    blobs: bool | Unset = False,
) -> Response[Experiment | Problem]:
    """Get a stored experiment

     Contains the parameters, the results and the saved report. The answer contains the bytes of the
    models only with `blobs`.

    Args:
        experiment (str): The id, or the percent-encoded name. Example: 1.
        blobs (bool | Unset): Include the bytes of the models. Default: False.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Experiment | Problem]
    """

    kwargs = _get_kwargs(
        experiment=experiment,
        blobs=blobs,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    experiment: str,
    *,
    client: AuthenticatedClient | Client,
    blobs: bool | Unset = False,
) -> Experiment | Problem | None:
    """Get a stored experiment

     Contains the parameters, the results and the saved report. The answer contains the bytes of the
    models only with `blobs`.

    Args:
        experiment (str): The id, or the percent-encoded name. Example: 1.
        blobs (bool | Unset): Include the bytes of the models. Default: False.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Experiment | Problem
    """

    return sync_detailed(
        experiment=experiment,
        client=client,
        blobs=blobs,
    ).parsed


async def asyncio_detailed(
    experiment: str,
    *,
    client: AuthenticatedClient | Client,
    blobs: bool | Unset = False,
) -> Response[Experiment | Problem]:
    """Get a stored experiment

     Contains the parameters, the results and the saved report. The answer contains the bytes of the
    models only with `blobs`.

    Args:
        experiment (str): The id, or the percent-encoded name. Example: 1.
        blobs (bool | Unset): Include the bytes of the models. Default: False.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Experiment | Problem]
    """

    kwargs = _get_kwargs(
        experiment=experiment,
        blobs=blobs,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    experiment: str,
    *,
    client: AuthenticatedClient | Client,
    blobs: bool | Unset = False,
) -> Experiment | Problem | None:
    """Get a stored experiment

     Contains the parameters, the results and the saved report. The answer contains the bytes of the
    models only with `blobs`.

    Args:
        experiment (str): The id, or the percent-encoded name. Example: 1.
        blobs (bool | Unset): Include the bytes of the models. Default: False.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Experiment | Problem
    """

    return (
        await asyncio_detailed(
            experiment=experiment,
            client=client,
            blobs=blobs,
        )
    ).parsed
