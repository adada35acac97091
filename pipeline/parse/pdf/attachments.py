"""Files inside a PDF: those of the whole document (an invoice's XML stands there), and those of remarks."""

import ctypes
import hashlib
import re
from functools import partial
from typing import Any

from pipeline.errors import Failure
from pipeline.parse.members import Members
from pipeline.parse.pdf.binding import raw, string

_MOST = 20_000  # more than any limit of documents inside one
_PDF = b"%PDF"
_PAYLOAD = "EncryptedPayload"  # what a document that is only a wrapper says of the file inside it
_ENCRYPT = re.compile(rb"/Encrypt\s+(\d+)\s+(\d+)\s+R")
_FILTER = rb"/%s\s*/([^\s/<>\[\]()%%]+)"
_LONGEST = 10_000  # bytes of a dictionary of encryption


class Attachments:
    """The files attached to a PDF; each goes once to `members`, also where it is attached twice under one name.

    `data` is the PDF that they are in: it may encrypt them and nothing else.
    """

    def __init__(self, members: Members, data: bytes) -> None:
        self._members = members
        self._met: set[bytes] = set()
        self._encrypted = _are_encrypted(data)

    def add_all(self, document: Any) -> None:
        """Add the files that are attached to the document as a whole."""
        for place in range(min(raw.FPDFDoc_GetAttachmentCount(document), _MOST)):
            self.add(raw.FPDFDoc_GetAttachment(document, place))

    def add(self, handle: Any) -> None:
        """Add one attached file. Raises DocumentError(BOMB) beyond what is allowed."""
        if not handle:
            return
        name = string(partial(raw.FPDFAttachment_GetName, handle)) or "attachment"
        if not self._members.open:
            self._members.add(name, ())
            return
        data, met = None if self._encrypted else _bytes_of(handle), name.encode("utf-8", "replace")
        # whether the document around it says that it is an encrypted document (ISO 32000-2, 7.6.7)
        is_payload = bool(data) and string(partial(raw.FPDFAttachment_GetAFRelationship, handle)) == _PAYLOAD
        if self._encrypted or (data and is_payload and not data.startswith(_PDF)):
            if met not in self._met:
                self._met.add(met)
                told = "a file attached to a PDF, encrypted with a password"
                self._members.refuse(name, 0, Failure.ENCRYPTED, told)
        elif data is None:
            self._members.refuse(name, 0, Failure.CORRUPT, "its bytes cannot be read from the PDF")
        elif (digest := hashlib.sha256(met + b"\0" + data).digest()) not in self._met:
            self._met.add(digest)
            self._members.add(name, iter((data,)))


def _are_encrypted(data: bytes) -> bool:
    """Whether a PDF that opens without a password encrypts the files in it (ISO 32000-2, 7.6.6: the entry EFF).

    pdfium reads them by the filter of all other streams, which is none then, and would give the encrypted bytes. The
    dictionary of encryption is never encrypted itself, nor compressed (7.5.7).
    """
    for number, generation in set(_ENCRYPT.findall(data)) if b"/EFF" in data else ():
        for begin in re.finditer(rb"(?<!\d)%s\s+%s\s+obj" % (number, generation), data):
            dictionary = data[begin.end() : begin.end() + _LONGEST].partition(b"endobj")[0]
            files, streams = (re.search(_FILTER % key, dictionary) for key in (b"EFF", b"StmF"))
            if files and files[1] not in {b"Identity", streams[1] if streams else None}:
                return True
    return False


def _bytes_of(handle: Any) -> bytes | None:
    size = ctypes.c_ulong()
    if not raw.FPDFAttachment_GetFile(handle, None, 0, size):
        return None
    buffer = ctypes.create_string_buffer(size.value)
    if size.value and not raw.FPDFAttachment_GetFile(handle, buffer, size.value, size):
        return None
    return buffer.raw
