"""The extra link next to the task's log that opens the receipt of its prediction."""

from __future__ import annotations

from typing import Any

from airflow_provider_loadaware._compat import BaseOperatorLink, XCom

RECEIPT_XCOM = "loadaware_receipt"


class ReceiptLink(BaseOperatorLink):
    """Links to the receipt. The operator knows the address of the receipt, or the try stored the address in an XCom."""

    name = "loadaware receipt"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address, or "" if the try has none."""
        known = getattr(operator, "loadaware_receipt_url", None)
        if known:
            return str(known)
        return str(XCom.get_value(key=RECEIPT_XCOM, ti_key=ti_key) or "")
