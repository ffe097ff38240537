from enum import Enum


class CampaignBranch(str, Enum):
    CHECK_DEPLOY = "check_deploy"
    CHECK_PROFILE = "check_profile"
    CHECK_RUN = "check_run"
    TRIGGER_DEPLOY = "trigger_deploy"
    TRIGGER_PROFILE = "trigger_profile"
    TRIGGER_RUN = "trigger_run"

    def __str__(self) -> str:
        return str(self.value)
