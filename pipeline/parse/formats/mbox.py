"""Mailboxes in one file (RFC 4155 and its relatives): each message becomes a document of its own.

A message begins with a line "From ADDRESS DATE" at the start of the file or after an empty line, and a header field
follows it. Where a message says its length (Content-Length) and the next one, or the end, is there, that holds.
Lines of the text that begin with "From " have got a ">" (mboxo, mboxrd, mboxcl), which is taken away again.
"""

import re
from collections.abc import Iterator

from pipeline.document import Parsed
from pipeline.errors import DocumentError
from pipeline.parse.contract import Source, finish
from pipeline.parse.mail.header import header_text, read_header
from pipeline.parse.unpack.names import from_title
from pipeline.parse.unpack.streams import PIECE

PARSER = "mbox/1"
_LINE = rb"From [^\r\n]{1,400}?\d\d?:\d\d[^\r\n]{0,100}\r?\n"
_FIELD = rb"(?=(?:>From |[!-9;-~]{1,100}[ \t]*:))"
_FIRST = re.compile(rb"(?:\xef\xbb\xbf|\r?\n)*" + _LINE + _FIELD)
_NEXT = re.compile(rb"\n\r?\n" + _LINE + _FIELD)
_FROM = re.compile(rb"[\r\n]*(?:From |\Z)")
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_EMPTY = re.compile(rb"\r?\n\r?\n")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_HEADER = 1 << 16  # bytes in which the fields that are needed here must stand


def is_mailbox(data: bytes) -> bool:
    """Whether bytes begin like a mailbox."""
    return _FIRST.match(data, 0, 4096) is not None


def parse(source: Source, media_type: str) -> Parsed:
    """The messages in it, numbered, and named by their subjects."""
    for number, (begin, end, quoted) in enumerate(_messages(source.data), start=1):
        header = source.data[begin : min(end, begin + _HEADER)]
        name = f"{number:04} {from_title(_subject(header), 'without a subject')}.eml"
        source.members.add(name, _content(source.data, begin, end, quoted))
    return finish(source, source.writer(), media_type, PARSER)


def _messages(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """The begin of each message, behind its "From " line, its end, and whether its text may quote such lines."""
    first = _FIRST.match(data)
    begin = first.end() if first else 0
    while True:
        end = _by_length(data, begin)
        following = _NEXT.search(data, max(begin, end - 3) if end else begin)
        quoted = end is None or not _NEXT.search(data, begin, end)
        if following is None:
            yield begin, len(data), quoted
            return
        yield begin, following.start() + 1, quoted
        begin = following.end()


def _by_length(data: bytes, begin: int) -> int | None:
    """The end of a message that says its length, if that is the end of a message; else None."""
    empty = _EMPTY.search(data, begin, begin + _HEADER)
    said = _LENGTH.search(data, begin, empty.start()) if empty else None
    if empty is None or said is None:
        return None
    end = empty.end() + int(said[1])
    return end if end <= len(data) and _FROM.match(data, end) else None


def _content(data: bytes, begin: int, end: int, quoted: bool) -> Iterator[bytes]:
    """The bytes of one mail, in pieces that end where lines do; `quoted`: with one ">" less before "From "."""
    while begin < end:
        cut = data.rfind(b"\n", begin, min(end, begin + PIECE)) + 1 if begin + PIECE < end else end
        cut = cut if cut > begin else min(end, begin + PIECE)
        piece = data[begin:cut]
        yield _QUOTED.sub(rb"\1", piece) if quoted else piece
        begin = cut


def _subject(header: bytes) -> str:
    empty = _EMPTY.search(header)
    fields = read_header(header[: empty.start()] if empty else header)
    try:
        return header_text(fields.get("subject", ""))
    except DocumentError:
        return ""
