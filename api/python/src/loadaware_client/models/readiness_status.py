from enum import Enum


class ReadinessStatus(str, Enum):
    READY = "ready"
    STARTING = "starting"
    STOPPING = "stopping"

    def __str__(self) -> str:
        return str(self.value)
