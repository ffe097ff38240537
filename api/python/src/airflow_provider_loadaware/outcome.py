"""Classification of a try's outcome from its pod. Only oom_killed and app_oom mean a lack of memory.

The first line that applies counts:

    exit 0, also with reason OOMKilled ........ success: a child was killed, the program continued
    gone (404) without a launch timeout [1],
    evicted or preempted ...................... evicted
    phase Succeeded without an exit code ...... success
    OOMKilled, exit not 0 ..................... oom_killed
    exit not 0, "MemoryError" or a similar
    message in the log ........................ app_oom
    exit 137, the measured peak at the limit .. oom_killed
    other exit 137, exit 143 .................. killed
    pending because of an image error or
    another error of _START_ERRORS ............ failed
    not scheduled, or launch timeout [1] of a
    pending or deleted pod .................... unschedulable
    all others, including the OOM of a sidecar
    or an init container ...................... failed

[1] A launch timeout counts only before the pod has a node; see is_scheduled.

Pure functions: no Airflow, no I/O, no clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any


class Outcome(str, Enum):
    """The outcomes that POST /observe accepts."""

    SUCCESS = "success"
    OOM_KILLED = "oom_killed"
    APP_OOM = "app_oom"
    FAILED = "failed"
    KILLED = "killed"
    EVICTED = "evicted"
    UNSCHEDULABLE = "unschedulable"

    @property
    def lacks_memory(self) -> bool:
        """Whether more memory may help."""
        return self in (Outcome.OOM_KILLED, Outcome.APP_OOM)


@dataclass(frozen=True)
class BaseEnd:
    """The terminated state of the base container; None means unknown."""

    exit_code: int | None = None
    reason: str | None = None
    message: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


# Reasons in a pod's status that mean that the cluster removed it.
_DISRUPTED = frozenset({"evicted", "preempting", "preempted", "nodelost", "nodeshutdown", "terminated", "shutdown"})
# The pod was scheduled; these reasons for not starting do not depend on its size.
_START_ERRORS = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)
_SIGKILL, _SIGTERM = 137, 143  # 128 + signal number
_AT_LIMIT = 0.95  # share of the limit: a sampler sees slightly less than the peak

_OUT_OF_MEMORY = re.compile(
    # also _ArrayMemoryError (NumPy), ArrowMemoryError and OutOfMemoryError (JVM)
    r"MemoryError\b|\bOutOfMemoryException\b|\bstd::bad_alloc\b|heap out of memory|runtime: out of memory"
    r"|\b[Cc]annot allocate (?:memory|vector of size)\b"
    r"|\bUnable to allocate .+ for an array\b"  # NumPy, if only the message is logged
    r"|\bDefaultCPUAllocator: (?:can't allocate|not enough) memory\b"  # PyTorch
    r"|\bOOM when allocating tensor\b"  # TensorFlow
    r"|\bOut of Memory Error:"  # DuckDB
    r"|\bmemory allocation of \d+ bytes failed"  # Rust
    r"|\bmemory exhausted \(limit reached"  # R
)
# Lines that also match _OUT_OF_MEMORY, although more host memory does not help: the memory of a GPU is full, or a limit
# of the JVM on threads, classes or the size of an array is reached.
_OTHER_LIMIT = re.compile(
    r"\b(?i:CUDA|GPU)\b|\bHIP out of memory|\btorch\.OutOfMemoryError"
    r"|\bnative thread\b|\bMetaspace\b|\bCompressed class space\b|\bRequested array size exceeds VM limit\b"
)


def base_end(pod: Any, base: str) -> BaseEnd:
    """Return the terminated state of container `base`, or an empty BaseEnd if it did not terminate."""
    status = next((s for s in _get(pod, "status", "container_statuses") or () if s.name == base), None)
    ended = _get(status, "state", "terminated")
    if ended is None:
        return BaseEnd()
    return BaseEnd(ended.exit_code, ended.reason, ended.message, ended.started_at, ended.finished_at)


def is_scheduled(pod: Any) -> bool:
    """Return whether a pod has a node."""
    return _has_condition(pod, "PodScheduled", "True")


def reports_out_of_memory(log_tail: str) -> bool:
    """Return whether a log line reports that the program ran out of host memory.

    Any line counts, not only the last: an out-of-memory error that the program does not handle often causes other
    errors, whose lines follow. So a line about an error that the program handled counts, too.
    """
    return any(_OUT_OF_MEMORY.search(line) and not _OTHER_LIMIT.search(line) for line in log_tail.splitlines())


def classify(
    pod: Any | None,
    base: str = "base",
    *,
    log_tail: str = "",
    peak_bytes: int | None = None,
    limit_bytes: int | None = None,
    launch_timed_out: bool = False,
) -> Outcome:
    """Return the outcome of a try. `pod` is its last known state, or None if the pod is gone.

    `launch_timed_out` means that the launch timed out before the pod had a node.
    """
    if pod is None:
        return Outcome.UNSCHEDULABLE if launch_timed_out else Outcome.EVICTED
    end = base_end(pod, base)
    if end.exit_code == 0:
        return Outcome.SUCCESS
    if _is_disrupted(pod):
        return Outcome.EVICTED
    if end.exit_code is None:
        return _classify_not_terminated(pod, base, launch_timed_out)
    if end.reason == "OOMKilled":
        return Outcome.OOM_KILLED
    if reports_out_of_memory(log_tail):
        return Outcome.APP_OOM
    if end.exit_code in (_SIGKILL, _SIGTERM):
        full = peak_bytes is not None and limit_bytes is not None and peak_bytes >= _AT_LIMIT * limit_bytes
        return Outcome.OOM_KILLED if full and end.exit_code == _SIGKILL else Outcome.KILLED
    return Outcome.FAILED


def _is_disrupted(pod: Any) -> bool:
    if str(_get(pod, "status", "reason") or "").lower() in _DISRUPTED:
        return True
    return _has_condition(pod, "DisruptionTarget", "True")


def _classify_not_terminated(pod: Any, base: str, launch_timed_out: bool) -> Outcome:
    phase = _get(pod, "status", "phase")
    if phase == "Succeeded":
        return Outcome.SUCCESS
    if phase != "Pending":
        return Outcome.FAILED
    statuses = _get(pod, "status", "container_statuses") or ()
    waiting = {_get(s, "state", "waiting", "reason") for s in statuses if s.name == base}
    if waiting & _START_ERRORS:
        return Outcome.FAILED
    unscheduled = launch_timed_out or _has_condition(pod, "PodScheduled", "False")
    return Outcome.UNSCHEDULABLE if unscheduled else Outcome.FAILED


def _has_condition(pod: Any, kind: str, status: str) -> bool:
    return any(c.type == kind and c.status == status for c in _get(pod, "status", "conditions") or ())


def _get(thing: Any, *path: str) -> Any:
    for name in path:
        thing = getattr(thing, name, None)
    return thing
