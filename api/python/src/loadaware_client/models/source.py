from enum import StrEnum


class Source(StrEnum):
    COHORT = "cohort"
    LIFT = "lift"
    MODEL = "model"
    PROFILE = "profile"
    REQUESTED = "requested"

    def __str__(self) -> str:
        return str(self.value)
