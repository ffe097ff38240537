"""Tests of the outcome table and its edge cases."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client import models as k8s

from airflow_provider_loadaware.outcome import Outcome, classify, reports_out_of_memory

GIB = 1 << 30


def pod(
    exit_code: int | None = None,
    reason: str | None = None,
    *,
    phase: str = "Failed",
    pod_reason: str | None = None,
    waiting: str | None = None,
    conditions: list[tuple[str, str]] | None = None,
    others: dict[str, tuple[int, str]] | None = None,
    init: tuple[int, str] | None = None,
) -> Any:
    """Return a pod whose base container ended with a code, or did not terminate."""
    ended = k8s.V1ContainerStateTerminated(exit_code=exit_code, reason=reason) if exit_code is not None else None
    state = k8s.V1ContainerState(
        terminated=ended, waiting=k8s.V1ContainerStateWaiting(reason=waiting) if waiting else None
    )

    def status(name: str, state: Any) -> Any:
        return k8s.V1ContainerStatus(name=name, state=state, image="i", image_id="i", ready=False, restart_count=0)

    statuses = [status("base", state)]
    for name, (code, why) in (others or {}).items():
        ended = k8s.V1ContainerStateTerminated(exit_code=code, reason=why)
        statuses.insert(0, status(name, k8s.V1ContainerState(terminated=ended)))
    init_state = None
    if init is not None:
        ended = k8s.V1ContainerStateTerminated(exit_code=init[0], reason=init[1])
        init_state = [status("init", k8s.V1ContainerState(terminated=ended))]
    return k8s.V1Pod(
        status=k8s.V1PodStatus(
            phase=phase,
            init_container_statuses=init_state,
            reason=pod_reason,
            container_statuses=statuses,
            conditions=[k8s.V1PodCondition(type=t, status=s) for t, s in conditions or []],
        )
    )


@pytest.mark.parametrize(
    ("claim", "last_pod", "more", "want"),
    [
        ("a clean end", pod(0, "Completed", phase="Succeeded"), {}, Outcome.SUCCESS),
        ("the kernel's kill at the limit", pod(137, "OOMKilled"), {}, Outcome.OOM_KILLED),
        ("a kill that the program turned into exit code 1", pod(1, "OOMKilled"), {}, Outcome.OOM_KILLED),
        ("a killed child of a program that continued", pod(0, "OOMKilled", phase="Succeeded"), {}, Outcome.SUCCESS),
        ("a kill of unknown cause", pod(137, "Error"), {}, Outcome.KILLED),
        (
            "a kill of unknown cause with the peak at the limit",
            pod(137, "Error"),
            {"peak_bytes": GIB, "limit_bytes": GIB},
            Outcome.OOM_KILLED,
        ),
        (
            "a kill of unknown cause with the peak at half of the limit",
            pod(137, "Error"),
            {"peak_bytes": GIB // 2, "limit_bytes": GIB},
            Outcome.KILLED,
        ),
        (
            "SIGTERM with the peak at the limit",
            pod(143, "Error"),
            {"peak_bytes": GIB, "limit_bytes": GIB},
            Outcome.KILLED,
        ),
        ("a pod that the kubelet evicted", pod(137, "Error", pod_reason="Evicted"), {}, Outcome.EVICTED),
        ("an eviction with the reason OOMKilled", pod(137, "OOMKilled", pod_reason="Evicted"), {}, Outcome.EVICTED),
        ("a preempted pod", pod(143, "Error", conditions=[("DisruptionTarget", "True")]), {}, Outcome.EVICTED),
        ("a node that shut down", pod(None, pod_reason="Terminated"), {}, Outcome.EVICTED),
        ("a pod that is gone", None, {}, Outcome.EVICTED),
        ("a pod that is gone after a launch timeout", None, {"launch_timed_out": True}, Outcome.UNSCHEDULABLE),
        ("a Python MemoryError", pod(1, "Error"), {"log_tail": "Traceback\nMemoryError"}, Outcome.APP_OOM),
        ("a C++ bad_alloc", pod(134, "Error"), {"log_tail": "terminate ... 'std::bad_alloc'"}, Outcome.APP_OOM),
        ("a Java heap error", pod(3, "Error"), {"log_tail": "java.lang.OutOfMemoryError: Java heap"}, Outcome.APP_OOM),
        ("a Node heap error", pod(134, "Error"), {"log_tail": "JavaScript heap out of memory"}, Outcome.APP_OOM),
        ("a full GPU", pod(1, "Error"), {"log_tail": "torch.cuda.OutOfMemoryError: CUDA"}, Outcome.FAILED),
        ("a bug", pod(1, "Error"), {"log_tail": "ZeroDivisionError"}, Outcome.FAILED),
        (
            "a clean end that logged a MemoryError",
            pod(0, "Completed", phase="Succeeded"),
            {"log_tail": "MemoryError, retried"},
            Outcome.SUCCESS,
        ),
        (
            "a pod that was never scheduled",
            pod(None, phase="Pending", conditions=[("PodScheduled", "False")]),
            {},
            Outcome.UNSCHEDULABLE,
        ),
        ("a launch timeout", pod(None, phase="Pending"), {"launch_timed_out": True}, Outcome.UNSCHEDULABLE),
        (
            "a missing image",
            pod(None, phase="Pending", waiting="ImagePullBackOff"),
            {"launch_timed_out": True},
            Outcome.FAILED,
        ),
        ("a sidecar's OOM", pod(1, "Error", others={"sidecar": (137, "OOMKilled")}), {}, Outcome.FAILED),
        ("an init container's OOM", pod(None, init=(137, "OOMKilled")), {}, Outcome.FAILED),
        ("a pod that still runs", pod(None, phase="Running"), {}, Outcome.FAILED),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_an_end_is_classified(claim: str, last_pod: Any, more: dict[str, Any], want: Outcome) -> None:
    assert classify(last_pod, **more) is want, claim


def test_only_oom_outcomes_lack_memory() -> None:
    assert {o for o in Outcome if o.lacks_memory} == {Outcome.OOM_KILLED, Outcome.APP_OOM}


@pytest.mark.parametrize(
    "line",
    [
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,)",
        "ERROR - step 3: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type float64",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory",
        "RuntimeError: DefaultCPUAllocator: not enough memory: you tried to allocate 5077901088 bytes.",
        "ResourceExhaustedError: OOM when allocating tensor with shape[9] on /device:CPU:0 by allocator cpu",
        "Out of Memory Error: failed to allocate data of size 128.0 MiB (2.8 GiB/2.9 GiB used)",
        "pyarrow.lib.ArrowMemoryError: malloc of size 8589934592 failed",
        "duckdb.OutOfMemoryException: Out of Memory Error: could not allocate block",
        "java.lang.OutOfMemoryError: Java heap space",
        "OSError: [Errno 12] Cannot allocate memory",
        "fork/exec /bin/sh: cannot allocate memory",
        "memory allocation of 8589934592 bytes failed",
        "Error: vector memory exhausted (limit reached?)",
        "Error: cannot allocate vector of size 7.5 Gb",
    ],
)
def test_the_errors_of_host_memory_are_recognised(line: str) -> None:
    assert reports_out_of_memory(f"Traceback\n{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "torch.OutOfMemoryError: Tried to allocate 2.00 GiB.",
        "ResourceExhaustedError: OOM when allocating tensor with shape[9] on /device:GPU:0 by allocator GPU_0_bfc",
        "psycopg2.errors.OutOfMemory: out of memory",
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000 bytes",
        "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits",
        "java.lang.OutOfMemoryError: Metaspace",
        "java.lang.OutOfMemoryError: Requested array size exceeds VM limit",
        "MemoryErrors: 0",
        "ValueError: bad column",
    ],
)
def test_errors_that_more_host_memory_does_not_prevent_are_no_oom(line: str) -> None:
    assert not reports_out_of_memory(line)


def test_a_handled_error_counts_too() -> None:
    assert reports_out_of_memory("caught MemoryError, retrying with smaller batch\nValueError: bad column")


def test_a_gpu_log_line_does_not_hide_a_host_oom() -> None:
    assert reports_out_of_memory("CUDA is available\nMemoryError: Unable to allocate 4 GiB")
