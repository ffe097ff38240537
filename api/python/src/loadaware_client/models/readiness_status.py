from enum import StrEnum


class ReadinessStatus(StrEnum):
    READY = "ready"
    STARTING = "starting"

    def __str__(self) -> str:
        return str(self.value)
