from enum import Enum


class Outcome(str, Enum):
    APP_OOM = "app_oom"
    EVICTED = "evicted"
    FAILED = "failed"
    KILLED = "killed"
    OOM_KILLED = "oom_killed"
    SUCCESS = "success"
    UNSCHEDULABLE = "unschedulable"

    def __str__(self) -> str:
        return str(self.value)
