from enum import Enum


class Group(str, Enum):
    HEAVY = "heavy"
    LIGHT = "light"
    MODERATE = "moderate"

    def __str__(self) -> str:
        return str(self.value)
