from enum import Enum


class Grid(str, Enum):
    BINS = "bins"
    FINE = "fine"

    def __str__(self) -> str:
        return str(self.value)
