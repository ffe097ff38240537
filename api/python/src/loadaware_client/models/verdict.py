from enum import Enum


class Verdict(str, Enum):
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    AT_CAP = "at_cap"
    LEAK_SUSPECTED = "leak_suspected"
    LIFT = "lift"
    NOT_MEMORY = "not_memory"

    def __str__(self) -> str:
        return str(self.value)
