from enum import Enum


class Source(str, Enum):
    COHORT = "cohort"
    LIFT = "lift"
    MODEL = "model"
    PROFILE = "profile"
    REQUESTED = "requested"

    def __str__(self) -> str:
        return str(self.value)
