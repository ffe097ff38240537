"""Resizing of the pod of a deferrable task, in the trigger that waits for the pod."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.providers.cncf.kubernetes.triggers.pod import KubernetesPodTrigger
from airflow.triggers.base import TriggerEvent
from asgiref.sync import sync_to_async
from kubernetes_asyncio import client as kubernetes

from airflow_provider_loadaware.hooks import LoadawareHook
from airflow_provider_loadaware.plan import Plan
from airflow_provider_loadaware.resize_control import Controller
from airflow_provider_loadaware.resize_requests import (
    Ask,
    Execution,
    Failure,
    ReadPod,
    ReadUsage,
    Request,
    Requests,
    Resize,
    Sleep,
)
from airflow_provider_loadaware.resizer import KUBERNETES_SECONDS, METRICS_API, ask

# Status of the event of a trigger that cannot set the static grant; the worker then sets it.
NEEDS_WORKER = "loadaware_help"
EXECUTION = "loadaware_execution"  # field of an event; its value becomes `executed_plan` of the report


class ResizingPodTrigger(KubernetesPodTrigger):
    """KubernetesPodTrigger that also executes the plan of its pod.

    :param loadaware: "plan" (Plan.to_dict), "key" (the fields that name the try) and "conn_id" (the connection).
    """

    def __init__(self, *, loadaware: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.loadaware = loadaware
        self._service: Any = None

    @classmethod
    def of(cls, trigger: KubernetesPodTrigger, plan: Plan, key: dict[str, Any], conn_id: str) -> ResizingPodTrigger:
        """Return a trigger that waits like `trigger`."""
        _, kwargs = trigger.serialize()
        return cls(loadaware={"plan": plan.to_dict(), "key": key, "conn_id": conn_id}, **kwargs)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and the arguments with which a restarted triggerer creates the trigger again."""
        _, kwargs = super().serialize()
        return f"{__name__}.{type(self).__name__}", {**kwargs, "loadaware": self.loadaware}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield the event of KubernetesPodTrigger, or NEEDS_WORKER if this trigger cannot set the static grant."""
        controller = Controller(
            Plan.from_dict(self.loadaware["plan"]),
            self.base_container_name,
            self.loadaware["key"],
            self.log,
            can_hand_over=True,
        )
        execution = controller.execution
        waiting = asyncio.ensure_future(_first(super().run()))
        resizing = asyncio.ensure_future(self._resize(controller))
        try:
            await asyncio.wait({waiting, resizing}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done() and execution.static_grant_error is None:
                await waiting
            if waiting.done():
                yield _add_execution(await waiting, execution)
                return
            await _cancel(waiting)
            self._fired_event = True  # otherwise Airflow's trigger, which yielded no event itself, deletes the pod
            event = {"status": NEEDS_WORKER, "name": self.pod_name, "namespace": self.pod_namespace}
            yield _add_execution(TriggerEvent({**event, "message": execution.static_grant_error}), execution)
        finally:
            resizing.cancel()
            waiting.cancel()

    async def _resize(self, controller: Controller) -> None:
        try:
            await self._drive(controller.run())
        except Exception as error:  # noqa: BLE001 - a bug here must not leave the pod below its static grant
            self.log.warning("loadaware: plan: internal error (%s: %s)", type(error).__name__, error)
            controller.execution.static_grant_error = f"internal error: {error}"

    async def _drive(self, requests: Requests) -> None:
        result: Any = None
        while True:
            try:
                request = requests.send(result)
            except StopIteration:
                return
            result = await self._perform(request)

    async def _perform(self, request: Request) -> Any:
        if isinstance(request, Sleep):
            return await asyncio.sleep(request.seconds)
        try:
            if isinstance(request, Ask):
                return await sync_to_async(self._ask, thread_sensitive=False)(request)
            return await self._call(request)
        except Exception as error:  # noqa: BLE001 - the controller decides what a failure means
            return Failure.of(error)

    async def _call(self, request: Request) -> Any:
        of_pod = {"name": self.pod_name, "namespace": self.pod_namespace, "_request_timeout": KUBERNETES_SECONDS}
        async with self.hook.get_conn() as connection:
            core = kubernetes.CoreV1Api(connection)
            if isinstance(request, ReadPod):
                return connection.sanitize_for_serialization(await core.read_namespaced_pod(**of_pod))
            if isinstance(request, ReadUsage):
                metrics = kubernetes.CustomObjectsApi(connection)
                return await metrics.get_namespaced_custom_object(*METRICS_API, plural="pods", **of_pod)
            assert isinstance(request, Resize)
            await core.patch_namespaced_pod_resize(body=request.body, **of_pod)
            return {}

    def _ask(self, request: Ask) -> dict[str, Any]:
        if self._service is None:
            self._service = LoadawareHook(self.loadaware["conn_id"]).get_conn()
        return ask(self._service, request)


async def _first(events: AsyncIterator[TriggerEvent]) -> TriggerEvent | None:
    async for event in events:
        return event
    return None


async def _cancel(task: asyncio.Future[Any]) -> None:
    """Repeat cancel() until the task ends. Airflow's trigger swallows a cancel while it stops watching pod events."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1)


def _add_execution(event: TriggerEvent | None, execution: Execution) -> TriggerEvent:
    assert event is not None, "KubernetesPodTrigger ended without an event"
    return TriggerEvent({**event.payload, EXECUTION: execution.to_dict()})
