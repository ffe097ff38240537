from enum import StrEnum


class FeatureFieldKind(StrEnum):
    BOOL = "bool"
    CATEGORY = "category"
    DATE = "date"
    NUMBER = "number"

    def __str__(self) -> str:
        return str(self.value)
