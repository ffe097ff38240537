from enum import Enum


class GetSavingsBy(str, Enum):
    DAG = "dag"
    DAY = "day"
    OWNER = "owner"
    TASK = "task"

    def __str__(self) -> str:
        return str(self.value)
