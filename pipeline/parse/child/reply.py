"""A child's answer as a message, and the parent's strict reading of it: the child may have been taken over."""

import errno
import os
from dataclasses import asdict
from typing import Any

from pipeline.document import Hidden, Member, Parsed, Picture, Section, Unseen
from pipeline.errors import DocumentError, Failure
from pipeline.parse.child.channel import BadMessageError
from pipeline.parse.limits import Limits
from pipeline.parse.members import NoRoomError
from pipeline.parse.sight.hidden import KINDS
from pipeline.text.visible import visible

_PAGES = 10_000_000
_NAME = 200  # characters of a media type, a parser's name, an encoding, a title
_NOTE = 1000
_NOTES = 100
_SECTIONS = 20_000
_IMAGES = 100_000
_UNSEEN = 2_000  # pieces of hidden text
_DEPTH = 100  # levels of sections
_SHOWN = 2000  # characters of any of them once escaped; a log entry has at most 65,535 bytes
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})


def format_parsed(parsed: Parsed) -> dict[str, Any]:
    """The message for a parsed document; notes beyond the hundredth are counted, long ones end in an ellipsis."""
    notes = [_shortened(note) for note in parsed.notes]
    if len(parsed.sections) > _SECTIONS:
        notes.append(f"only the first {_SECTIONS:,} of its {len(parsed.sections):,} headings are named in evidence")
    if len(notes) > _NOTES:
        notes = [*notes[: _NOTES - 1], f"{len(notes) - _NOTES + 1} further notes"]
    return {
        "text": parsed.text,
        "media_type": parsed.media_type,
        "parser": parsed.parser,
        "page_starts": list(parsed.page_starts),
        "encoding": parsed.encoding,
        "encoding_confidence": parsed.encoding_confidence,
        "notes": notes,
        "sections": [[one.start, one.level, one.kind, one.title[:_NAME]] for one in parsed.sections[:_SECTIONS]],
        "hidden": {one.kind: one.characters for one in parsed.hidden},
        "members": [asdict(one) for one in parsed.members],
        "images": [[one.name, one.offset, one.size] for one in parsed.images],
        "unsure": [_shortened(why) for why in parsed.unsure[:_NOTES]],
        "unseen": [[one.kind, one.text] for one in parsed.unseen[:_UNSEEN]],
    }


def _shortened(note: str) -> str:
    return note if len(note) <= _NOTE else note[: _NOTE - 1] + "…"


def format_failure(error: DocumentError) -> dict[str, Any]:
    """The message for a document that failed."""
    return {"failure": error.failure.value, "reason": error.reason[:_NOTE]}


def format_far(done: int, of: int) -> dict[str, Any]:
    """The message, before the answer, that `done` pages are read."""
    return {"far": [done, of]}


def parse_far(message: dict[str, Any]) -> tuple[int, int] | None:
    """The pages that are read, and those that there are; None for any other message. Raises BadMessageError."""
    if set(message) != {"far"}:
        return None
    match message["far"]:
        case [int(done), int(of)] if bool not in (type(done), type(of)) and 0 <= done <= of <= _PAGES:
            return done, of
    raise BadMessageError("not so many pages of so many")


def format_no_room(error: NoRoomError) -> dict[str, Any]:
    """The message for a disk that is full."""
    return {"no_room": error.errno}


def parse_reply(message: dict[str, Any], limits: Limits) -> Parsed:
    """The document that a message describes; raises the DocumentError or OSError it reports, or BadMessageError."""
    if "failure" in message:
        raise parse_failure(message)
    if "no_room" in message:
        raise _no_room(message)
    if set(message) != set(Parsed.__dataclass_fields__):
        raise BadMessageError("wrong fields")
    text = _text(message["text"], limits.output_characters)
    return Parsed(
        text=text,
        media_type=_line(message["media_type"], _NAME),
        parser=_line(message["parser"], _NAME),
        page_starts=_page_starts(message["page_starts"], len(text)),
        encoding=None if message["encoding"] is None else _line(message["encoding"], _NAME),
        encoding_confidence=_confidence(message["encoding_confidence"]),
        notes=tuple(_line(note, _NOTE) for note in _list(message["notes"], _NOTES)),
        sections=_sections(message["sections"], len(text)),
        hidden=_hidden(message["hidden"]),
        members=tuple(_member(one, limits) for one in _list(message["members"], limits.unpacked_documents)),
        images=tuple(_image(one, limits) for one in _list(message["images"], _IMAGES)),
        unsure=tuple(_line(why, _NOTE) for why in _list(message["unsure"], _NOTES)),
        unseen=tuple(_unseen(one, limits) for one in _list(message["unseen"], _UNSEEN)),
    )


def parse_failure(message: dict[str, Any]) -> DocumentError:
    """The DocumentError that a message reports; raises BadMessageError."""
    if set(message) != {"failure", "reason"} or message["failure"] not in list(Failure):
        raise BadMessageError("not a failure of the closed list")
    return DocumentError(Failure(message["failure"]), _line(message["reason"], _NOTE))


def _no_room(message: dict[str, Any]) -> OSError:
    number = message["no_room"]
    if type(number) is not int or number not in _NO_ROOM:
        raise BadMessageError("not an error of a file system")
    return OSError(number, f"{os.strerror(number)} while a document was unpacked")


def _text(value: object, limit: int) -> str:
    if not isinstance(value, str) or len(value) > limit:
        raise BadMessageError(f"not a string of at most {limit} characters")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise BadMessageError("a string with lone surrogates") from error
    return value


def _line(value: object, limit: int) -> str:
    """A text that people see, which may quote the document: one line, without controls."""
    text = visible(_text(value, limit))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _list(value: object, limit: int) -> list[object]:
    if not isinstance(value, list) or len(value) > limit:
        raise BadMessageError(f"not a list of at most {limit} values")
    return value


def _number(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise BadMessageError(f"not a whole number from 0 to {most}")
    return value


def _fields(value: object, count: int) -> list[object]:
    if not isinstance(value, list) or len(value) != count:
        raise BadMessageError(f"not a list of {count} values")
    return value


def _page_starts(value: object, length: int) -> tuple[int, ...]:
    starts: list[int] = []
    for start in _list(value, length + 100_000):
        if type(start) is not int or not (starts[-1] if starts else 0) <= start <= length:
            raise BadMessageError("page starts that do not ascend within the text")
        starts.append(start)
    if starts and starts[0] != 0:
        raise BadMessageError("a first page that does not start at 0")
    return tuple(starts)


def _sections(value: object, length: int) -> tuple[Section, ...]:
    sections: list[Section] = []
    for one in _list(value, _SECTIONS):
        start, level, kind, title = _fields(one, 4)
        section = Section(_number(start, length), _number(level, _DEPTH), _line(kind, _NAME), _line(title, _NAME))
        if sections and section.start < sections[-1].start:
            raise BadMessageError("sections that do not ascend within the text")
        sections.append(section)
    return tuple(sections)


def _hidden(value: object) -> tuple[Hidden, ...]:
    if not isinstance(value, dict) or not set(value) <= set(KINDS):
        raise BadMessageError("not counts of ways to hide text")
    return tuple(Hidden(kind, _number(value[kind], 2**53)) for kind in KINDS if kind in value)


def _unseen(value: object, limits: Limits) -> Unseen:
    kind, text = _fields(value, 2)
    if kind not in KINDS:
        raise BadMessageError("not a way to hide text")
    return Unseen(str(kind), _text(text, limits.output_characters))


def _member(value: object, limits: Limits) -> Member:
    if not isinstance(value, dict) or set(value) != set(Member.__dataclass_fields__):
        raise BadMessageError("not a document inside another")
    offset, failure, most = value["offset"], value["failure"], limits.unpacked_bytes
    if failure not in (None, *Failure) or (offset is None and failure is None):
        raise BadMessageError("a document without bytes and without a failure")
    return Member(
        name=_line(value["name"], _NOTE),
        size=_number(value["size"], 2**63 if offset is None else most),
        offset=None if offset is None else _number(offset, most),
        failure=None if failure is None else Failure(failure),
        reason=None if failure is None else _line(value["reason"], _NOTE),
    )


def _image(value: object, limits: Limits) -> Picture:
    name, offset, size = _fields(value, 3)
    most = limits.unpacked_bytes
    return Picture(_line(name, _NAME), _number(offset, most), _number(size, most))


def _confidence(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:  # NaN is in no interval
        raise BadMessageError("a confidence outside 0 to 1")
    return float(value)
