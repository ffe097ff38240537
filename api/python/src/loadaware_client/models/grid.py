from enum import StrEnum


class Grid(StrEnum):
    BINS = "bins"
    FINE = "fine"

    def __str__(self) -> str:
        return str(self.value)
