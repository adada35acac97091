"""Why a document has no answer: a closed list of failures, each with a sentence and a remedy."""

from enum import StrEnum


class Failure(StrEnum):
    """What a failed document died of; the value stands in the result table and in the log."""

    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    NEEDS_OCR = "needs_ocr"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    UNREADABLE = "unreadable"

    @property
    def remedy(self) -> str:
        """One sentence for the person who has to do something about it."""
        return _REMEDIES[self]


_REMEDIES = {
    Failure.ENCRYPTED: "Remove the password and drop the document again.",
    Failure.CORRUPT: "Ask the sender for an undamaged copy, or open and save it again in its own program.",
    Failure.EMPTY: "There is no text in it; check whether the right file was sent.",
    Failure.UNSUPPORTED: "Convert it to PDF, DOCX or plain text and drop it again.",
    Failure.NEEDS_OCR: "Its pages are images; run OCR on it and drop the result.",
    Failure.TOO_LARGE: "Split it, or raise the limit in site.yaml.",
    Failure.TIMEOUT: "Split or simplify it, or raise limits.parse_seconds in site.yaml.",
    Failure.OUT_OF_MEMORY: "Split it, or raise limits.parse_memory_mib in site.yaml.",
    Failure.CRASHED: "Treat it as suspicious; open and save it again in its own program.",
    Failure.UNREADABLE: "Check the permissions of the file and drop it again.",
}


class DocumentError(Exception):
    """One document failed, and only it: `failure` from the closed list, `reason` what exactly was found."""

    def __init__(self, failure: Failure, reason: str) -> None:
        super().__init__(f"{failure}: {reason}")
        self.failure = failure
        self.reason = reason
