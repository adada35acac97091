"""The layout of a PowerPoint 97-2003 stream ([MS-PPT] 2.1 to 2.4): records, and the slides in order with their texts.

A record, as also in drawings ([MS-ODRAW]), is a header of eight bytes, then data; a container's data are records again.
They are walked as they lie in memory; nothing is copied. The newest version of each object is found by the chain of
edits, each with a directory of what it wrote. The texts of placeholders lie beside the list of slides, those of other
shapes in the slide's drawing.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding import codepages
from pipeline.parse.office.binary.slide_lists import Run, runs_of
from pipeline.parse.sight.raised import lowered, raised
from pipeline.parse.sight.symbols import shown_in

_HEADER = struct.Struct("<HHI")
_CONTAINER = 0xF
_DEPTH = 200


@dataclass(frozen=True)
class Record:
    """One record: its type, its instance (which of several), and its data."""

    kind: int
    instance: int
    data: memoryview
    is_container: bool
    depth: int = 0

    def children(self) -> "Iterator[Record]":
        """The records inside this one; raises DocumentError(CORRUPT)."""
        return records(self.data, self.depth + 1)

    def first(self, *kinds: int) -> "Record | None":
        """The record that lies at the end of this path of types, the first at each step."""
        found: Record | None = self
        for kind in kinds:
            found = next((one for one in found.children() if one.kind == kind), None) if found else None
        return found

    def number(self, offset: int, size: int = 4) -> int:
        """A number without sign in the data; 0 where the data end before it."""
        return int.from_bytes(self.data[offset : offset + size], "little")


def records(data: memoryview, depth: int = 0) -> Iterator[Record]:
    """The records that follow one another; raises DocumentError(CORRUPT) where one is longer than what is there."""
    if depth > _DEPTH:
        raise DocumentError(Failure.CORRUPT, "its records are nested too deep")
    at = 0
    while at + _HEADER.size <= len(data):
        version, kind, length = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        if at + length > len(data):
            raise DocumentError(Failure.CORRUPT, f"a record of type {kind:#06x} is longer than what holds it")
        yield Record(kind, version >> 4, data[at : at + length], version & 0xF == _CONTAINER, depth)
        at += length


def record_at(data: memoryview, offset: int) -> Record:
    """The record that begins at a place in the data; raises DocumentError(CORRUPT) where there is none."""
    if offset + _HEADER.size > len(data):
        raise DocumentError(Failure.CORRUPT, "a record lies beyond the end of its stream")
    length = _HEADER.unpack_from(data, offset)[2]
    return next(records(data[offset : offset + _HEADER.size + length]))


def below(parents: Iterable[Record], kind: int) -> Iterator[Record]:
    """All records of a type, however deep, in their order."""
    for record in parents:
        if record.kind == kind:
            yield record
        elif record.is_container:
            yield from below(record.children(), kind)


USER_EDIT, DIRECTORY, DOCUMENT = 0x0FF5, 0x1772, 0x03E8
LIST, PERSIST, SLIDE, SLIDE_ATOM, NOTES = 0x0FF0, 0x03F3, 0x03EE, 0x03EF, 0x03F0
TEXT_HEADER, TEXT_CHARS, TEXT_BYTES, STRING = 0x0F9F, 0x0FA0, 0x0FA8, 0x0FBA
_LOOKS = 0x0FA1
_FONTS, _FONT_ENTITY, _FACE, _OF_SIGNS = (0x03F2, 0x07D5), 0x0FB7, 64, 2
_FURNITURE = {
    0x0FD8: "number", 0x0FF7: "date", 0x0FF8: "date", 0x0FF9: "header", 0x0FFA: "footer", 0x1015: "date",
}  # fmt: skip
_PLAIN, _LOCKED = 0xE391C05F, 0xF3D1C4DF
_SLIDES, _NOTES = 0, 2  # which list it is
TITLES, _OTHER = {0, 6}, 4


@dataclass
class Text:
    """A text: what kind of placeholder it is for, and by place the signs in it that stand for something else."""

    kind: int
    text: str = ""
    signs: dict[int, str] = field(default_factory=dict)
    looks: bytes = b""  # of its runs
    labels: list[str] = field(default_factory=list)  # what is drawn before its paragraphs

    def shown(self, furniture: dict[str, str], fonts: dict[int, tuple[str, bool]]) -> str:
        """The text with its signs replaced by what they stand for, as it is drawn in these fonts."""
        pieces = list(self.text)
        for place in self.signs.keys() & range(len(pieces)):
            pieces[place] = furniture.get(self.signs[place], "")
        text, at = "", 0
        for run in [*runs_of(self.looks, len(pieces)), Run(len(pieces), 0, -1, 0)]:
            text += "\r".join(_drawn(line, run, fonts) for line in "".join(pieces[at : run.end]).split("\r"))
            at = max(at, run.end)
        paragraphs = zip_longest(self.labels, text.split("\r"), fillvalue="")
        return "\n".join(label + paragraph for label, paragraph in paragraphs).replace("\x0b", "\n")


def _drawn(text: str, run: Run, fonts: dict[int, tuple[str, bool]]) -> str:
    name, of_signs = fonts.get(run.font, ("", False))
    text = shown_in(name, text, of_signs=of_signs)
    return raised(text) if run.moved > 0 else lowered(text) if run.moved < 0 else text


@dataclass
class Slide:
    """A slide in the list: the place of its record, its own number, and its texts."""

    place: int
    identity: int
    texts: list[Text]


class Presentation:
    """The document as its newest edit left it; raises DocumentError."""

    def __init__(self, current: bytes, stream: bytes) -> None:
        self._data = memoryview(stream)
        if len(current) < 20:
            raise DocumentError(Failure.CORRUPT, "it does not say where its last edit is")
        token, offset = struct.unpack_from("<II", current, 12)
        if token == _LOCKED:
            raise _locked()
        self._places: dict[int, int] = {}
        self._used: set[int] = set()
        self.document = self._read_edits(offset)
        lists = [one for one in self.document.children() if one.kind == LIST]
        self.slides = [slide for one in lists if one.instance == _SLIDES for slide in _listed(one)]
        self.fonts = dict(_fonts(self.document))
        self._notes = {slide.identity: slide for one in lists if one.instance == _NOTES for slide in _listed(one)}

    def stored(self, number: int, kind: int) -> Record:
        """A record by its number in the directories, each once; raises DocumentError(CORRUPT)."""
        place = self._places.get(number)
        record = record_at(self._data, place) if place is not None and place not in self._used else None
        if record is None or place is None or record.kind != kind:
            what = "slides" if kind in {SLIDE, NOTES} else "objects"
            raise DocumentError(Failure.CORRUPT, f"one of its {what} is missing")
        self._used.add(place)
        return record

    def notes_of(self, record: Record) -> Slide | None:
        """The page of notes that a slide has."""
        atom = record.first(SLIDE_ATOM)
        return self._notes.pop(atom.number(16), None) if atom else None

    def _read_edits(self, offset: int) -> Record:
        """The document's record, by the directories of all edits, the newest first."""
        seen, newest = set[int](), 0  # of edits and of directories
        while offset and offset not in seen:
            edit = record_at(self._data, offset)
            if edit.kind != USER_EDIT or len(edit.data) < 28:
                raise DocumentError(Failure.CORRUPT, "its edits cannot be followed")
            if len(edit.data) >= 32 and edit.number(28):
                raise _locked()
            newest = newest or edit.number(16)
            seen.add(offset)
            if edit.number(12) not in seen:
                self._read_directory(record_at(self._data, edit.number(12)))
            seen.add(edit.number(12))
            offset = edit.number(8)
        place = self._places.get(newest)
        document = record_at(self._data, place) if place is not None else None
        if document is None or document.kind != DOCUMENT:
            raise DocumentError(Failure.CORRUPT, "its document record is missing")
        return document

    def _read_directory(self, directory: Record) -> None:
        numbers = struct.unpack(f"<{len(directory.data) // 4}I", directory.data[: len(directory.data) // 4 * 4])
        at = 0
        while directory.kind == DIRECTORY and at < len(numbers):
            first, count = numbers[at] & 0xFFFFF, numbers[at] >> 20
            for number, place in enumerate(numbers[at + 1 : at + 1 + count], start=first):
                self._places.setdefault(number, place)
            at += 1 + count


def _fonts(document: Record) -> Iterator[tuple[int, tuple[str, bool]]]:
    """The fonts by their numbers, each with whether it has signs alone ([MS-PPT] 2.9.8)."""
    found = document.first(*_FONTS)
    for entry in found.children() if found else ():
        if entry.kind == _FONT_ENTITY:
            name = bytes(entry.data[:_FACE]).decode("utf-16-le", "replace").partition("\0")[0]
            yield entry.instance, (name, entry.number(_FACE, 1) == _OF_SIGNS)


def texts_of(records: Iterable[Record]) -> list[Text]:
    """The texts among records that follow one another: a header, the text, then the signs in it."""
    texts: list[Text] = []
    for record in records:
        if record.kind == TEXT_HEADER or (record.kind in {TEXT_CHARS, TEXT_BYTES} and not texts):
            texts.append(Text(record.number(0) if record.kind == TEXT_HEADER else _OTHER))
        if record.kind in {TEXT_CHARS, TEXT_BYTES}:
            texts[-1].text += _stored(record)
        elif record.kind == _LOOKS and texts:
            texts[-1].looks = bytes(record.data)
        elif record.kind in _FURNITURE and texts:
            texts[-1].signs[record.number(0)] = _FURNITURE[record.kind]
    return texts


def string_of(record: Record) -> str:
    """The text of a record, its paragraphs as lines."""
    return _stored(record).replace("\r", "\n").replace("\x0b", "\n")


def _stored(record: Record) -> str:
    data = bytes(record.data)
    return codepages.low_bytes(data) if record.kind == TEXT_BYTES else data.decode("utf-16-le", "replace")


def _listed(container: Record) -> Iterator[Slide]:
    """The slides of a list; the texts of each follow it."""
    found: list[tuple[Record, list[Record]]] = []
    for record in container.children():
        if record.kind == PERSIST:
            found.append((record, []))
        elif found:
            found[-1][1].append(record)
    return (Slide(slide.number(0), slide.number(12), texts_of(behind)) for slide, behind in found)


def _locked() -> DocumentError:
    return DocumentError(Failure.ENCRYPTED, "a PowerPoint presentation with a password")
