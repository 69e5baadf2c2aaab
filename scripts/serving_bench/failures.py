"""Why a request failed. The kinds are few, so that they can be counted in bounded memory."""

from __future__ import annotations

from typing import Final

REFUSED: Final = "no connection"
TLS: Final = "TLS"
SILENT: Final = "timeout before the first token or answer"
STALLED: Final = "timeout in the answer"
CLOSED: Final = "closed before an answer"
CUT: Final = "closed in the answer"
GARBAGE: Final = "garbage"
ERROR_EVENT: Final = "error in the stream"


def of_status(status: int) -> str:
    return f"http {status}"


class RequestFailedError(Exception):
    """Of one request of many: it is counted, and the test goes on."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind
        self.detail = detail
