"""Measurement of the base container's program with loadaware-peak.

An init container copies loadaware-peak into a shared volume. loadaware-peak then runs the command of the base
container and writes the measured peak to the termination message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubernetes.client import models as k8s

_PROGRAM = "loadaware-peak"
_FOLDER = "/loadaware"
_TERMINATION_LOG = "/dev/termination-log"


def wrap(pod: Any, container: Any, image: str) -> Callable[[], None]:
    """Wrap a container's command and return a function that undoes it.

    Raises ValueError if the container sets no command: loadaware-peak cannot read the ENTRYPOINT of the image.
    """
    if not container.command:
        raise ValueError('measure="wrapper": cmds is missing; set it, because a container cannot read its ENTRYPOINT')
    spec = pod.spec
    before = spec.init_containers, spec.volumes, container.command, container.volume_mounts

    def undo() -> None:
        spec.init_containers, spec.volumes, container.command, container.volume_mounts = before

    mount = k8s.V1VolumeMount(name=_PROGRAM, mount_path=_FOLDER)
    install = k8s.V1Container(
        name=_PROGRAM,
        image=image,
        command=[_PROGRAM, "install", _FOLDER],
        volume_mounts=[mount],
        # A quota may require resources on every container. These cost nothing, because the init container ends first.
        resources=k8s.V1ResourceRequirements(requests={"cpu": "10m", "memory": "32Mi"}, limits={"memory": "32Mi"}),
    )
    spec.init_containers = [*(spec.init_containers or []), install]
    spec.volumes = [*(spec.volumes or []), k8s.V1Volume(name=_PROGRAM, empty_dir=k8s.V1EmptyDirVolumeSource())]
    container.volume_mounts = [
        *(container.volume_mounts or []),
        k8s.V1VolumeMount(name=_PROGRAM, mount_path=_FOLDER, read_only=True),
    ]
    path = container.termination_message_path or _TERMINATION_LOG
    to = [] if path == _TERMINATION_LOG else ["-to", path]
    container.command = [f"{_FOLDER}/{_PROGRAM}", *to, "--", *container.command]
    return undo
