from enum import StrEnum


class Mode(StrEnum):
    ENFORCE = "enforce"
    OFF = "off"
    SHADOW = "shadow"

    def __str__(self) -> str:
        return str(self.value)
