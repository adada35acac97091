"""Failures: of a document (a closed list, each with a sentence and a remedy), and of a run that does not begin."""

import re
from enum import StrEnum
from pathlib import Path


class Failure(StrEnum):
    """The reason why a document failed; the value stands in the result table and in the log."""

    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    NEEDS_OCR = "needs_ocr"
    TOO_LARGE = "too_large"
    BOMB = "bomb"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    UNREADABLE = "unreadable"
    CHANGED_WHILE_READING = "changed_while_reading"
    NAME_REFUSED = "name_refused"
    TOO_LONG = "too_long"
    UNANSWERED = "unanswered"
    INVALID_REQUEST = "invalid_request"

    @property
    def sentence(self) -> str:
        """The meaning of the failure, in one sentence."""
        return _SENTENCES[self]

    @property
    def remedy(self) -> str:
        """One sentence for the person who has to do something about it."""
        return _REMEDIES[self]


_SENTENCES = {
    Failure.ENCRYPTED: "It is locked with a password or a key.",
    Failure.CORRUPT: "It is damaged, or not what it says it is.",
    Failure.EMPTY: "There is no text in it.",
    Failure.UNSUPPORTED: "It is of a kind that is not read.",
    Failure.NEEDS_OCR: "It is a picture of text, and there is no text recognition that could read it.",
    Failure.TOO_LARGE: "It, or the text in it, is larger than the limits of this workspace.",
    Failure.BOMB: "It unpacks to more documents, bytes or levels than the limits of this workspace.",
    Failure.TIMEOUT: "Reading it took longer than the limit of this workspace.",
    Failure.OUT_OF_MEMORY: "Reading it took more memory than the limit of this workspace.",
    Failure.CRASHED: "The program that reads it broke down over it.",
    Failure.UNREADABLE: "The file cannot be opened or read.",
    Failure.CHANGED_WHILE_READING: "Something wrote to it while it was read.",
    Failure.NAME_REFUSED: "Its name leads out of the archive that it is in, or is no name of a file.",
    Failure.TOO_LONG: "The model would have, or has, worked on it for longer than the limits of this workspace.",
    Failure.UNANSWERED: "The model did not come to the end of an answer.",
    Failure.INVALID_REQUEST: "It is no request of a batch file, or asks for something that is not done here.",
}
_REMEDIES = {
    Failure.ENCRYPTED: "Remove the password and drop the document again.",
    Failure.CORRUPT: "Ask the sender for an undamaged copy, or open and save it again in its own program.",
    Failure.EMPTY: "Check whether the right file was sent.",
    Failure.UNSUPPORTED: "Convert it to PDF, DOCX or plain text and drop it again.",
    Failure.NEEDS_OCR: "Install Tesseract and cloister[ocr], or run OCR on it yourself and drop the result.",
    Failure.TOO_LARGE: (
        "Split it, or raise in site.yaml the limit that the reason names; it lies in failed/ until it is retried, or "
        "where the reason says."
    ),
    Failure.BOMB: "Treat it as suspicious; unpack it by hand, or raise in site.yaml the limit that the reason names.",
    Failure.TIMEOUT: "Split or simplify it, or raise limits.parse_seconds in site.yaml, if the reason names that.",
    Failure.OUT_OF_MEMORY: "Split it, or raise limits.parse_memory_mib in site.yaml, if the reason names that.",
    Failure.CRASHED: "Treat it as suspicious; open and save it again in its own program.",
    Failure.UNREADABLE: "Correct the permissions of the file in the input folder; the next run then takes it up again.",
    Failure.CHANGED_WHILE_READING: "Let what writes to it come to an end; the next run reads it again.",
    Failure.NAME_REFUSED: "Unpack the archive by hand, rename the file and drop it.",
    Failure.TOO_LONG: "Split it, or raise limits.document_tokens or limits.document_seconds in site.yaml.",
    Failure.UNANSWERED: "Raise task.max_tokens or model.cache_mib in the job, ask for less, or use a larger model.",
    Failure.INVALID_REQUEST: "Correct what the reason names, and drop the request again in a batch file.",
}


_ADDRESS = re.compile(r" ?<[\w. ]+ at 0x[0-9a-fA-F]+>| at 0x[0-9a-fA-F]+")


class DocumentError(Exception):
    """One document failed, and only it: `failure` from the closed list, `reason` what exactly was found.

    Addresses in memory, which libraries tell of, are left out: the reason of a document is the same each time.
    """

    def __init__(self, failure: Failure, reason: str) -> None:
        self.failure = failure
        self.reason = _ADDRESS.sub("", reason)
        super().__init__(f"{failure}: {self.reason}")


class ModelRefusedError(Exception):
    """The model is missing, bad, not supported, or not the one that the job pins; the message says which."""


class MachineRefusedError(Exception):
    """The machine lacks what CLOISTER_ISA or CLOISTER_THREADS ask for, or what isolated parsers need."""


class BadPartError(Exception):
    """A part in outbox/ that cannot be read as a result table, or whose row is another one than the log proves."""

    def __init__(self, part: Path, what: str = "not a table that this program wrote") -> None:
        super().__init__(f"{part}: {what}; `cloister audit verify` tells more")
