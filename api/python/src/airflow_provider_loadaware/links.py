"""A button beside the task's log that leads to the receipt of its size."""

from __future__ import annotations

from typing import Any

from airflow_provider_loadaware._compat import BaseOperatorLink, XCom

RECEIPT_XCOM = "loadaware_receipt"


class ReceiptLink(BaseOperatorLink):
    """The address that a try left in its XCom."""

    name = "loadaware receipt"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address, or "" where the try was not sized."""
        known = getattr(operator, "loadaware_receipt_url", None)
        if known:
            return str(known)
        return str(XCom.get_value(key=RECEIPT_XCOM, ti_key=ti_key) or "")
