"""Files inside a PDF: those of the whole document (an invoice's XML stands there), and those of remarks."""

import ctypes
import hashlib
from collections.abc import Iterator
from typing import Any

from pipeline.errors import Failure
from pipeline.parse.members import Members
from pipeline.parse.pdf.binding import raw, string

_MOST = 20_000  # more than any limit of documents inside one


class Attachments:
    """Gives each file once to `members`, also where it is attached twice under one name."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._met: set[bytes] = set()

    def add_all(self, document: Any) -> None:
        """Those of the document."""
        for place in range(min(raw.FPDFDoc_GetAttachmentCount(document), _MOST)):
            self.add(raw.FPDFDoc_GetAttachment(document, place))

    def add(self, handle: Any) -> None:
        """One. Raises DocumentError(BOMB) beyond what is allowed."""
        if not handle:
            return
        name = string(lambda buffer, size: raw.FPDFAttachment_GetName(handle, buffer, size)) or "attachment"
        if not self._members.open:
            self._members.add(name, ())
            return
        data = _bytes_of(handle)
        if data is None:
            self._members.refuse(name, 0, Failure.CORRUPT, "its bytes cannot be read from the PDF")
        elif (digest := hashlib.sha256(name.encode("utf-8", "replace") + b"\0" + data).digest()) not in self._met:
            self._met.add(digest)
            self._members.add(name, _chunks(data))


def _bytes_of(handle: Any) -> bytes | None:
    size = ctypes.c_ulong()
    if not raw.FPDFAttachment_GetFile(handle, None, 0, size):
        return None
    buffer = ctypes.create_string_buffer(size.value)
    if size.value and not raw.FPDFAttachment_GetFile(handle, buffer, size.value, size):
        return None
    return buffer.raw


def _chunks(data: bytes) -> Iterator[bytes]:
    yield data
