from enum import Enum


class PolicyRequestPhasesType2Type1(str, Enum):
    CPU = "cpu"
    MEMORY = "memory"
    OBSERVE = "observe"
    OFF = "off"

    def __str__(self) -> str:
        return str(self.value)
