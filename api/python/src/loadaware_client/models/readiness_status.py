from enum import Enum


class ReadinessStatus(str, Enum):
    READY = "ready"
    STARTING = "starting"

    def __str__(self) -> str:
        return str(self.value)
