"""Corrections: values that a person gives are read as the job reads values, and found where he says that they stand."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pipeline.document import Evidence, Row
from pipeline.errors import DocumentError
from pipeline.text.values import VALUES, Finder, Reading, Value, pattern_finder, read_habits

_FREE = frozenset({"text", "title", "organisation"})
"""Types whose values are whatever stands there: their finders look for places, not for a form."""
_NORMAL = Reading(decimal_shown=True, day_first_shown=True)  # how normal forms are written
EXAMPLES: Mapping[str, str] = {
    "date": "2026-10-19",
    "money": "1663.20 GBP",
    "number": "12.5",
    "percent": "19%",
    "email": "anna@example.org",
    "phone": "+49 30 901820",
    "iban": "DE89370400440532013000",
    "reference": "R-0977/26",
}
"""How a value of each type with a form may be written."""
_MOST = 4_096  # characters of a value
_SPACE = re.compile(r"\s+")
_TOLD = 60  # characters of a value in a message


class ReviewRefusedError(ValueError):
    """A decision that cannot be taken; the message is one sentence for the person who made it."""


def only(answer: Mapping[str, Any], key: str) -> Any:
    """What a correction says under its one key. ReviewRefusedError for other keys."""
    if answer.keys() != {key}:
        raise ReviewRefusedError(f"a correction of this row says {key!r} and nothing else")
    return answer[key]


@dataclass(frozen=True)
class Place:
    """Where a person says that a value stands: in text[start:end], and on which page, if there are pages."""

    start: int
    end: int
    page: int | None = None


@dataclass(frozen=True)
class Given:
    """A value as a person gave it."""

    text: str
    place: Place | None = None


@dataclass(frozen=True)
class Settled:
    """The value in its normal form; where it stands, text[start:end], None where nobody said; and a note on it."""

    value: str
    start: int | None = None
    end: int | None = None
    page: int | None = None
    note: str | None = None


def evidence_of(row: Row, text: str | None, its: Settled) -> dict[str, Any] | None:
    """The place of a value as columns have places. Its section, and its page unless the person said it, are known where
    the row names the same place already."""
    if its.start is None or its.end is None or text is None:
        return None
    values = (each for column in ("fields", "values") for each in row.get(column) or ())
    places = (*row.evidence, *(Evidence(**at) for each in values if (at := each["evidence"])))
    known = next((place for place in places if place.start == its.start), None)
    page, section = its.page or (known.page if known else None), known.section if known else None
    return asdict(Evidence(page, its.start, its.end, text[its.start : its.end], section))


def parse_given(name: str, said: Any) -> Given:
    """Read one value of an answer: {"value": …} and perhaps "start", "end" and "page". ReviewRefusedError."""
    if not isinstance(said, Mapping) or not {"value"} <= said.keys() <= {"value", "start", "end", "page"}:
        raise ReviewRefusedError(f"{name}: a value is given as value, start, end and page, or is null")
    text = said["value"]
    if not isinstance(text, str) or not text.strip():
        raise ReviewRefusedError(
            f"{name}: the value is empty; where the document has none, say so (--absent FIELD; null in a file)"
        )
    if len(text) > _MOST:
        raise ReviewRefusedError(f"{name}: the value has {len(text):,} characters; at most {_MOST:,} are taken")
    start, end, page = (said.get(key) for key in ("start", "end", "page"))
    if start is None and end is None:
        return Given(text.strip())
    if type(start) is not int or type(end) is not int or (page is not None and type(page) is not int):
        raise ReviewRefusedError(f"{name}: a place is a start and an end, in characters of the text")
    return Given(text.strip(), Place(start, end, page))


def settled(
    name: str, kind: str, pattern: str | None, given: Given, text: str | None, pages: int | None,
    before: Sequence[str] = (),
) -> Settled:  # fmt: skip
    """The value as the type `kind` writes it. ReviewRefusedError where it is none of that type, or does not stand where
    the person says. `text` is the parsed text of the document, None where it is gone; `before` are the values in whose
    place it comes: a part that they have and it does not name, such as the currency, is kept."""
    where = _checked(name, given.place, text, pages) if given.place else None
    if kind in _FREE or (kind not in VALUES and pattern is None):
        return _free(name, given.text, where, text)
    finder = pattern_finder(pattern) if pattern is not None else VALUES[kind]
    reading = read_habits(text) if text is not None else Reading()
    parts = sorted({one.part for value in before if (one := _Read.of(kind, value)).part})
    try:
        readings = list(_read(kind, finder, given.text, reading, parts))
        if not readings:
            raise ReviewRefusedError(f"{name}: {_told(given.text)} is no {kind} as this job reads one{_such_as(kind)}")
        if where is None or text is None:
            return _with_parts(name, readings[0], parts)
        return _found(name, finder, reading, readings, parts, where, text)
    except DocumentError as error:
        raise ReviewRefusedError(f"{name}: {error.reason}") from error


@dataclass(frozen=True)
class _Read:
    """A value of a type without the part that a person may leave out, and that part: the currency of money, the sign of
    a percentage, the + of a telephone number; "" where it has none."""

    kind: str
    core: str
    part: str
    note: str | None = None

    @classmethod
    def of(cls, kind: str, value: str, note: str | None = None) -> "_Read":
        match kind:
            case "money":
                core, _, part = value.partition(" ")
                return cls(kind, core, part, note)
            case "percent":
                return cls(kind, value.removesuffix("%"), "%", note)
            case "phone":
                return cls(kind, value, value[0] if value.startswith("+") else "", note)
        return cls(kind, value, "", note)

    def with_part(self, part: str) -> str:
        """The value with this part."""
        return {"money": f"{self.core} {part}".rstrip(), "percent": f"{self.core}%"}.get(self.kind, self.core)


def _read(kind: str, finder: Finder, given: str, reading: Reading, parts: Sequence[str]) -> Iterator[_Read]:
    """What was given, read as it is, else with a part of the values before."""
    found = [_Read.of(kind, one.value, one.note) for one in _readings(finder, given, reading)]
    for part in parts if not found else ():
        more = _readings(finder, _Read(kind, given, "").with_part(part), reading)
        found += [replace(_Read.of(kind, one.value), part="") for one in more]
    yield from found


def _with_parts(name: str, read: _Read, parts: Sequence[str]) -> Settled:
    """The value with the part of the values before, if it has none. ReviewRefusedError where that cannot be told."""
    if read.part or not parts:
        return Settled(read.with_part(read.part), note=read.note)
    if len(parts) > 1 or read.kind == "phone":
        lacks = "no country" if read.kind == "phone" else "no currency"
        had = "those before" if len(parts) > 1 else "the value before"
        raise ReviewRefusedError(f"{name}: {_told(read.core)} has {lacks}, and {had} had one{_such_as(read.kind)}")
    note = f"{parts[0]} is that of the value before" if read.kind == "money" else None
    return Settled(read.with_part(parts[0]), note=note)


def _checked(name: str, place: Place, text: str | None, pages: int | None) -> Place:
    if text is None:
        raise ReviewRefusedError(f"{name}: the parsed text is not in the archive any more, so no place can be marked")
    if not 0 <= place.start < place.end <= len(text):
        fact = f"the text has {len(text):,} characters, and {place.start:,} to {place.end:,} is no place in it"
        raise ReviewRefusedError(f"{name}: {fact}")
    if place.page is not None and not 1 <= place.page <= (pages or 0):
        raise ReviewRefusedError(f"{name}: the document has no page {place.page:,}")
    return place


def _readings(finder: Finder, given: str, reading: Reading) -> Iterator[Value]:
    """The values that the whole of what was given is: as a normal form first, else as the document writes values."""
    for how in (_NORMAL, reading):
        for value in finder(given, how):
            if (value.start, value.end) == (0, len(given)) and (how is reading or value.value == given):
                yield value


def _found(
    name: str, finder: Finder, reading: Reading, wanted: Sequence[_Read], parts: Sequence[str], where: Place, text: str
) -> Settled:
    """The first value at the place that is the one that was given; read within the whole text, around what was marked,
    else by itself. A part that was not given is that of the text, else that of the values before."""
    inner = text[where.start : where.end]
    itself = (replace(v, start=v.start + where.start, end=v.end + where.start) for v in finder(inner, reading))
    whole = list(finder(text, reading))
    within = (v for v in whole if where.start <= v.start and v.end <= where.end)
    around = (v for v in whole if v.start <= where.start and where.end <= v.end)
    for value in (*within, *around, *itself):
        there = _Read.of(wanted[0].kind, value.value, value.note)
        for one in wanted:
            if there.core == one.core and (one.part == there.part or not (one.part and there.part)):
                its = replace(one, part=one.part or there.part, note=None if one.part != there.part else there.note)
                made = _with_parts(name, its, () if its.kind == "phone" else parts)
                return replace(made, start=value.start, end=value.end, page=where.page)
    told = _told(min(one.with_part(one.part) for one in wanted))
    raise ReviewRefusedError(f"{name}: {told} does not stand at {where.start:,} to {where.end:,}")


def _free(name: str, given: str, where: Place | None, text: str | None) -> Settled:
    """A value of no form of its own: its white space made single blanks, as in the document."""
    value = _SPACE.sub(" ", given)
    if where is None or text is None:
        return Settled(value)
    words = re.compile(r"\s+".join(map(re.escape, value.split(" "))))
    found = words.search(text, where.start, where.end)
    if found is None:
        raise ReviewRefusedError(f"{name}: {_told(value)} does not stand at {where.start:,} to {where.end:,}")
    return Settled(value, found.start(), found.end(), where.page)


def _such_as(kind: str) -> str:
    return f"; write it as the document does, or like {EXAMPLES[kind]}" if kind in EXAMPLES else ""


def _told(text: str) -> str:
    return repr(text if len(text) <= _TOLD else f"{text[:_TOLD]}…")
