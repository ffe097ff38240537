from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.receipt import Receipt
from ...types import Response


def _get_kwargs(
    prediction_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/predictions/{prediction_id}".format(
            prediction_id=quote(str(prediction_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Receipt:
    if response.status_code == 200:
        response_200 = Receipt.from_dict(response.json())

        return response_200

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if 400 <= response.status_code <= 499:
        response_4xx = Problem.from_dict(response.json())

        return response_4xx

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Receipt]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Problem | Receipt]:
    """Get the receipt of a prediction

     Contains the request, the answer, and the state of the model's margins at the time of the answer. A
    receipt does not
    store all fields. The request lacks `metadata`, `node_type`, `cluster_load` and
    `execution_timeout_seconds`. The answer
    lacks `cohort`, `gpu_memory` and `warnings`, and its `duration` has only the median and the 95 %
    quantile; the other
    fields of `duration` are null.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Receipt]
    """

    kwargs = _get_kwargs(
        prediction_id=prediction_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Problem | Receipt | None:
    """Get the receipt of a prediction

     Contains the request, the answer, and the state of the model's margins at the time of the answer. A
    receipt does not
    store all fields. The request lacks `metadata`, `node_type`, `cluster_load` and
    `execution_timeout_seconds`. The answer
    lacks `cohort`, `gpu_memory` and `warnings`, and its `duration` has only the median and the 95 %
    quantile; the other
    fields of `duration` are null.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Receipt
    """

    return sync_detailed(
        prediction_id=prediction_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Problem | Receipt]:
    """Get the receipt of a prediction

     Contains the request, the answer, and the state of the model's margins at the time of the answer. A
    receipt does not
    store all fields. The request lacks `metadata`, `node_type`, `cluster_load` and
    `execution_timeout_seconds`. The answer
    lacks `cohort`, `gpu_memory` and `warnings`, and its `duration` has only the median and the 95 %
    quantile; the other
    fields of `duration` are null.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Response[Problem | Receipt]
    """

    kwargs = _get_kwargs(
        prediction_id=prediction_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    prediction_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Problem | Receipt | None:
    """Get the receipt of a prediction

     Contains the request, the answer, and the state of the model's margins at the time of the answer. A
    receipt does not
    store all fields. The request lacks `metadata`, `node_type`, `cluster_load` and
    `execution_timeout_seconds`. The answer
    lacks `cohort`, `gpu_memory` and `warnings`, and its `duration` has only the median and the 95 %
    quantile; the other
    fields of `duration` are null.

    Args:
        prediction_id (str): `prediction_id` of a prediction. Example:
            01a203db-3767-75af-9372-ef21f00e90a2.

    Raises:
        httpx.TimeoutException: If the connection, one read or one write takes longer than the timeout of the client.

    Returns:
        Problem | Receipt
    """

    return (
        await asyncio_detailed(
            prediction_id=prediction_id,
            client=client,
        )
    ).parsed
