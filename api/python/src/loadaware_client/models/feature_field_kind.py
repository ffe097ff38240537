from enum import Enum


class FeatureFieldKind(str, Enum):
    BOOL = "bool"
    CATEGORY = "category"
    DATE = "date"
    NUMBER = "number"

    def __str__(self) -> str:
        return str(self.value)
