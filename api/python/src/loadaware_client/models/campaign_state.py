from enum import IntEnum


class CampaignState(IntEnum):
    VALUE_0 = 0
    VALUE_10 = 10
    VALUE_11 = 11
    VALUE_15 = 15
    VALUE_17 = 17
    VALUE_30 = 30
    VALUE_31 = 31
    VALUE_35 = 35
    VALUE_37 = 37
    VALUE_50 = 50
    VALUE_51 = 51
    VALUE_55 = 55
    VALUE_57 = 57

    def __str__(self) -> str:
        return str(self.value)
