"""Errors that API functions raise"""


class UnexpectedStatus(Exception):
    """Raised by a function in api.service that does not parse the status code of an answer, if Client.raise_on_unexpected_status is True"""

    def __init__(self, status_code: int, content: bytes):
        self.status_code = status_code
        self.content = content

        super().__init__(
            f"Unexpected status code: {status_code}\n\nResponse content:\n{content.decode(errors='ignore')}"
        )


__all__ = ["UnexpectedStatus"]
