from enum import StrEnum


class Outcome(StrEnum):
    APP_OOM = "app_oom"
    EVICTED = "evicted"
    FAILED = "failed"
    KILLED = "killed"
    OOM_KILLED = "oom_killed"
    SUCCESS = "success"
    UNSCHEDULABLE = "unschedulable"

    def __str__(self) -> str:
        return str(self.value)
