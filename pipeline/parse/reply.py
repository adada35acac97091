"""A child's answer as a message, and the parent's strict reading of it: the child may have been taken over."""

from typing import Any

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.channel import BadMessageError
from pipeline.parse.limits import Limits
from pipeline.visible import visible

_NAME = 200  # characters of a media type, a parser's name, an encoding
_NOTE = 1000
_NOTES = 100
_SHOWN = 2000  # characters of any of them once escaped; a log entry has at most 65,535 bytes


def format_parsed(parsed: Parsed) -> dict[str, Any]:
    """The message for a parsed document; notes beyond the hundredth are counted, long ones end in an ellipsis."""
    notes = [note if len(note) <= _NOTE else note[: _NOTE - 1] + "…" for note in parsed.notes]
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
    }


def format_failure(error: DocumentError) -> dict[str, Any]:
    """The message for a document that failed."""
    return {"failure": error.failure.value, "reason": error.reason[:_NOTE]}


def parse_reply(message: dict[str, Any], limits: Limits) -> Parsed:
    """The document that a message describes; raises the DocumentError that it reports, or BadMessageError."""
    if "failure" in message:
        raise _failure(message)
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
    )


def _failure(message: dict[str, Any]) -> DocumentError:
    if set(message) != {"failure", "reason"} or message["failure"] not in list(Failure):
        raise BadMessageError("not a failure of the closed list")
    return DocumentError(Failure(message["failure"]), _line(message["reason"], _NOTE))


def _text(value: object, limit: int) -> str:
    if not isinstance(value, str) or len(value) > limit:
        raise BadMessageError(f"not a string of at most {limit} characters")
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


def _page_starts(value: object, length: int) -> tuple[int, ...]:
    starts: list[int] = []
    for start in _list(value, length + 100_000):
        if type(start) is not int or not (starts[-1] if starts else 0) <= start <= length:
            raise BadMessageError("page starts that do not ascend within the text")
        starts.append(start)
    if starts and starts[0] != 0:
        raise BadMessageError("a first page that does not start at 0")
    return tuple(starts)


def _confidence(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:  # NaN is in no interval
        raise BadMessageError("a confidence outside 0 to 1")
    return float(value)
