from enum import Enum


class PhasesMode(str, Enum):
    PHASES_CPU = "cpu"
    PHASES_MEMORY = "memory"
    PHASES_OBSERVE = "observe"
    PHASES_OFF = "off"

    def __str__(self) -> str:
        return str(self.value)
