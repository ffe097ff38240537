from enum import Enum


class ExplanationTermKind(str, Enum):
    CAP = "cap"
    CEILING = "ceiling"
    COHORT = "cohort"
    FEATURE = "feature"
    FLOOR = "floor"
    GUARD = "guard"
    HEADROOM = "headroom"
    LIFT = "lift"
    MARGIN = "margin"
    POOL = "pool"
    ROUNDING = "rounding"

    def __str__(self) -> str:
        return str(self.value)
