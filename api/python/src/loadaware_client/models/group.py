from enum import StrEnum


class Group(StrEnum):
    HEAVY = "heavy"
    LIGHT = "light"
    MODERATE = "moderate"

    def __str__(self) -> str:
        return str(self.value)
