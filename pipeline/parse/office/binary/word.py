"""The text of a Word 97-2003 document as it is stored ([MS-DOC] 2.4): pieces of two streams, and what they look like.

A character has a position in the text (CP) and, by the piece it is in, a place in the stream WordDocument (FC). What is
known of paragraphs and runs is listed by FC, in pages of 512 bytes (FKP).
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding import codepages
from pipeline.parse.office.binary.ole import CompoundFile
from pipeline.parse.office.binary.word_lists import WordLists
from pipeline.parse.sight.raised import lifted
from pipeline.parse.sight.symbols import shown_in

_IDENT, _FIRST_VERSION = 0xA5EC, 0x00C1
_ENCRYPTED, _TABLE_1 = 0x0100, 0x0200
STORIES = ("body", "footnotes", "headers", "comments", "endnotes", "boxes", "header boxes")
_COUNTS = (76, 80, 84, 92, 96, 100, 104)  # where the FIB counts the characters of each story
_PAIRS = 154  # where its pairs of place and length in the table stream begin
_PAGE = 512
# Bytes of an operand by the upper three bits of its number ([MS-DOC] 2.2.5.1); 6: it says so itself.
_OPERANDS = (1, 1, 2, 4, 2, 2, 0, 3)
_TABLE_SHAPE = 0xD608  # its length has two bytes and counts one too many
_LISTED, _LEVEL = 0x460B, 0x260A
_OF_PARAGRAPHS, _BASES = 1, 20
_FONT_TABLE, _FONT_NAME, _OF_SIGNS = 15, 39, b"\2"
_Look = TypeVar("_Look")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph's properties: its style's number, its list and level (None: those of its style), its table."""

    style: int = 0
    listed: int | None = None
    level: int | None = None
    in_table: bool = False
    row_end: bool = False
    inner_cell: bool = False
    inner_row: bool = False


class Style(NamedTuple):
    """A style's properties: its kind (1 to 9 headings, 62 the title), and the list and level of its paragraphs."""

    kind: int = 0
    listed: int | None = None
    level: int | None = None


@dataclass(frozen=True)
class Characters:
    """The properties of a run of characters; `symbol` is the one that each of them stands for, "" for none.

    `height` is above 0 where they are raised, below 0 where they are lowered. `fonts` are the numbers of the fonts of
    ASCII and of other letters; -1 for those of the style.
    """

    deleted: bool = False
    hidden: bool = False
    symbol: str = ""
    height: int = 0
    struck: bool = False
    fonts: tuple[int, int] = (-1, -1)
    form: int | None = None  # where the stream Data has the form field that they stand for


class WordText:
    """The whole text of a document, in the order of STORIES, and its looks; raises DocumentError."""

    def __init__(self, file: CompoundFile, limit: int) -> None:
        self._stream = file.need(file.root, "WordDocument")
        flags = _checked(self._stream)
        self.data = file.read(file.root, "data") or b""
        self._table = file.need(file.root, "1Table" if flags & _TABLE_1 else "0Table")
        self._pieces = list(self._read_pieces(limit))
        self.text = "".join(map(self._decode, self._pieces))
        counts = [struct.unpack_from("<I", self._stream, place)[0] for place in _COUNTS]
        ends = [min(end, len(self.text)) for end in accumulate(counts)]
        self.stories = dict(zip(STORIES, pairwise([0, *ends]), strict=True))
        self.missing = sum(counts) - len(self.text)
        paragraphs = self._by_position(self._looks(13, _paragraph))
        self.paragraphs = {end - 1: look for _, end, look in paragraphs}  # by the position of the mark at its end
        self.runs = [run for run in self._by_position(self._looks(12, _characters)) if run[2] != Characters()]
        self.styles = _read_styles(self.part(1))
        self._fonts = list(_read_fonts(self.part(_FONT_TABLE)))
        self._of_signs = {
            number for number, (name, of_signs) in enumerate(self._fonts) if of_signs or shown_in(name, "m") != "m"
        }
        lists = struct.unpack_from("<II", self._stream, _PAIRS + 8 * 73)  # the levels follow what its length says
        self.lists = WordLists(self._table[lists[0] :] if lists[1] else b"", lists[1], self.part(74))

    def is_marked(self, look: Characters) -> bool:
        """Whether text of such a run is drawn as something else than its plain characters on the line."""
        return bool(look.height or look.struck or look.symbol or not self._of_signs.isdisjoint(look.fonts))

    def drawn(self, text: str, look: Characters) -> str:
        """The text of a run as its fonts show it, with the marks of what is raised, lowered or struck out."""
        numbers = ((one, look.fonts[not one.isascii()]) for one in text)
        fonts = ((one, self._fonts[font] if 0 <= font < len(self._fonts) else ("", False)) for one, font in numbers)
        text = "".join(shown_in(name, one, of_signs=of_signs) for one, (name, of_signs) in fonts)
        return lifted(text, look.height, look.struck)

    def part(self, number: int) -> bytes:
        """A structure of the table stream by its number among the pairs of the FIB."""
        try:
            place, length = struct.unpack_from("<II", self._stream, _PAIRS + 8 * number)
        except struct.error as error:
            raise _damaged("its header ends early") from error
        return self._table[place : place + length]

    def positions(self, number: int, width: int) -> list[int]:
        """The positions in a PLC, whose data have `width` bytes each."""
        data = self.part(number)
        count = (len(data) - 4) // (4 + width) + 1 if len(data) >= 4 else 0
        return list(struct.unpack_from(f"<{count}I", data))

    def _read_pieces(self, limit: int) -> Iterator[tuple[int, int, int, int]]:
        """The first position of each piece, the one behind it, its place in the stream and its bytes a character."""
        clx, at = self.part(33), 0
        while clx[at : at + 1] == b"\1" and at + 5 <= len(clx):  # what fast saving left
            at += 3 + int.from_bytes(clx[at + 1 : at + 3], "little")
        data = b""
        if clx[at : at + 1] == b"\2" and at + 5 <= len(clx):
            data = clx[at + 5 : at + 5 + int.from_bytes(clx[at + 1 : at + 5], "little")]
        count = (len(data) - 4) // 12
        if count < 1:
            raise _damaged("it has no table of pieces")
        positions = struct.unpack_from(f"<{count + 1}I", data)
        if positions[-1] > limit:
            raise DocumentError(
                Failure.TOO_LARGE,
                f"its text has {positions[-1]:,} characters, more than {limit:,}: twice limits.text_characters",
            )
        for number, (start, end) in enumerate(pairwise(positions)):
            place = struct.unpack_from("<I", data, 4 * (count + 1) + 8 * number + 2)[0]
            width = 1 if place & 0x40000000 else 2
            place = (place & 0x3FFFFFFF) // (2 // width)
            if end < start or place + (end - start) * width > len(self._stream):
                raise _damaged("its table of pieces points beyond its text")
            yield start, end, place, width

    def _decode(self, piece: tuple[int, int, int, int]) -> str:
        start, end, place, width = piece
        data = self._stream[place : place + (end - start) * width]
        if width == 1:
            return codepages.low_bytes(data)
        text = data.decode("utf-16-le", "surrogatepass")
        if 2 * len(text) == len(data):
            return text
        return "".join(map(chr, struct.unpack(f"<{len(data) // 2}H", data)))  # every position counts; see whole()

    def _looks(self, number: int, read: "Callable[[bytes, int], _Look]") -> list[tuple[int, int, _Look]]:
        """First and last place in the stream and the look of each run, from the pages that a PLC lists, in order."""
        data = self.part(number)
        count = max(0, (len(data) - 4) // 8)
        runs: dict[int, tuple[int, int, _Look]] = {}
        for page in dict.fromkeys(struct.unpack_from(f"<{count}I", data, 4 * (count + 1)) if count else ()):
            at = (page & 0x3FFFFF) * _PAGE
            for run in _page_runs(self._stream[at : at + _PAGE], read):
                runs.setdefault(run[0], run)
        return [runs[start] for start in sorted(runs)]

    def _by_position(self, runs: list[tuple[int, int, _Look]]) -> list[tuple[int, int, _Look]]:
        """Runs between places in the stream, as (first, behind the last, look), with positions in the text instead."""
        starts, found = [run[0] for run in runs], []
        for start, end, place, width in self._pieces:
            stop = place + (end - start) * width
            for number in range(max(0, bisect_right(starts, place) - 1), bisect_left(starts, stop)):
                first, last, look = runs[number]
                a, b = start + (max(first, place) - place) // width, start + (min(last, stop) - place) // width
                if a < b:
                    found.append((a, b, look))
        return found


def whole(text: str) -> str:
    """Text with its pairs of surrogates joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _checked(stream: bytes) -> int:
    """The flags of the FIB; raises DocumentError for a document that cannot be read."""
    if len(stream) < _PAIRS + 8 * 75:
        raise _damaged("its header ends early")
    ident, version = struct.unpack_from("<HH", stream)
    flags = int(struct.unpack_from("<H", stream, 10)[0])
    if flags & _ENCRYPTED:
        raise DocumentError(Failure.ENCRYPTED, "a Word document with a password")
    if ident != _IDENT or version < _FIRST_VERSION:
        raise DocumentError(
            Failure.UNSUPPORTED, "found a document of Word 95 or older (.doc); save it in a newer format or as PDF"
        )
    return flags


def _damaged(what: str) -> DocumentError:
    return DocumentError(Failure.CORRUPT, f"a damaged Word document: {what}")


def _page_runs(page: bytes, read: "Callable[[bytes, int], _Look]") -> Iterator[tuple[int, int, _Look]]:
    """The runs of a page: places, then for each a pointer, the structures it points to, and their count at the end."""
    width = 13 if read is _paragraph else 1
    count = page[-1] if len(page) == _PAGE else 0
    if count == 0 or 4 * (count + 1) + width * count > _PAGE:
        return
    places = struct.unpack_from(f"<{count + 1}I", page)
    for number, (start, end) in enumerate(pairwise(places)):
        if start < end:
            yield start, end, read(page, 2 * page[4 * (count + 1) + width * number])


def _paragraph(page: bytes, at: int) -> Paragraph:
    if at == 0:
        return Paragraph()
    at, length = (at + 1, 2 * page[at] - 1) if page[at] else (at + 2, 2 * page[min(at + 1, _PAGE - 1)])
    found = {_PARAGRAPH.get(number): value for number, value in _changes(page[at + 2 : at + length])}
    return Paragraph(
        style=found.get("style", int.from_bytes(page[at : at + 2], "little")),
        listed=found.get("listed"),
        level=found.get("level"),
        in_table=bool(found.get("in_table") or found.get("nesting")),
        row_end=bool(found.get("row_end")),
        inner_cell=bool(found.get("inner_cell")),
        inner_row=bool(found.get("inner_row")),
    )


_PARAGRAPH = {
    _LISTED: "listed", _LEVEL: "level", 0x2416: "in_table", 0x2417: "row_end", 0x244B: "inner_cell",
    0x244C: "inner_row", 0x4600: "style", 0x6649: "nesting",
}  # fmt: skip


def _characters(page: bytes, at: int) -> Characters:
    found = dict(_changes(page[at + 1 : at + 1 + page[at]])) if at else {}
    if _KNOWN.isdisjoint(found):
        return _PLAIN
    sign = found.get(_SYMBOL)
    usual = found.get(_ASCII_FONT, -1)
    moved = (found.get(_POSITION, 0) ^ 0x8000) - 0x8000  # half points
    return Characters(
        deleted=found.get(0x0800) == 1,
        hidden=found.get(0x083C) in _ON,
        symbol="" if sign is None else chr(sign >> 16),
        height={1: 1, 2: -1}.get(found.get(_LIFT, 0), moved if abs(moved) * 6 >= found.get(_SIZE, _USUAL) else 0),
        struck=found.get(_STRUCK) in _ON or found.get(_STRUCK_TWICE) in _ON,
        form=found.get(_PLACE_OF_DATA) if found.get(_HAS_DATA) == 1 else None,
        fonts=(usual, found.get(_OTHER_FONT, usual)) if sign is None else (sign & 0xFFFF, sign & 0xFFFF),
    )


_ON = {1, 0x81}  # 0x81: not as its style
_SYMBOL, _LIFT, _POSITION, _SIZE, _STRUCK, _STRUCK_TWICE = 0x6A09, 0x2A48, 0x4845, 0x4A43, 0x0837, 0x2A53
_PLACE_OF_DATA, _HAS_DATA = 0x6A03, 0x0806
_ASCII_FONT, _OTHER_FONT = 0x4A4F, 0x4A51
_USUAL = 20  # half points
_KNOWN = {0x0800, 0x083C, _SYMBOL, _LIFT, _POSITION, _STRUCK, _STRUCK_TWICE, _PLACE_OF_DATA, _ASCII_FONT, _OTHER_FONT}
_PLAIN = Characters()


def _read_fonts(table: bytes) -> Iterator[tuple[str, bool]]:
    """The names of the fonts by their numbers ([MS-DOC] 2.9.85), and whether each has signs alone."""
    at = 4
    while at < len(table) and table[at]:
        entry = table[at + 1 : at + 1 + table[at]]
        name = entry[_FONT_NAME:].decode("utf-16-le", "replace").partition("\0")[0]
        yield name, entry[3:4] == _OF_SIGNS
        at += 1 + table[at]


def _changes(data: bytes) -> Iterator[tuple[int, int]]:
    """Number and value of each property that is changed (sprm), without those of variable length."""
    at = 0
    while at + 3 <= len(data):
        number = int.from_bytes(data[at : at + 2], "little")
        size = _OPERANDS[number >> 13]
        if size:
            yield number, int.from_bytes(data[at + 2 : at + 2 + size], "little")
        elif number == _TABLE_SHAPE:
            size = int.from_bytes(data[at + 2 : at + 4], "little") + 1
        else:
            size = data[at + 2] + 1
        at += 2 + size


def _read_styles(sheet: bytes) -> dict[int, Style]:
    """The styles by their numbers, each with the list of those that it is based on ([MS-DOC] 2.9.135)."""
    found, styles, bases = dict[int, Style](), dict[int, Style](), dict[int, int]()
    at = 2 + int.from_bytes(sheet[:2], "little")
    head = int.from_bytes(sheet[4:6], "little")
    for number in range(int.from_bytes(sheet[2:4], "little")):
        length = int.from_bytes(sheet[at : at + 2], "little")
        if length:
            entry = sheet[at + 2 : at + 2 + length]
            place = head + 4 + 2 * int.from_bytes(entry[head : head + 2], "little")
            changes = _changes(entry[place + 4 : place + 2 + int.from_bytes(entry[place : place + 2], "little")])
            said = dict(changes) if entry[2:3] and entry[2] & 0xF == _OF_PARAGRAPHS else {}
            kind = int.from_bytes(entry[:2], "little") & 0x0FFF
            found[number] = Style(kind, said.get(_LISTED), said.get(_LEVEL))
            bases[number] = int.from_bytes(entry[2:4], "little") >> 4
        at += 2 + length + length % 2
    for number, (kind, listed, level) in list(found.items()):
        base = bases[number]
        for _ in range(_BASES):
            if base not in found or (listed is not None and level is not None):
                break
            listed = found[base].listed if listed is None else listed
            level = found[base].level if level is None else level
            base = bases[base]
        styles[number] = Style(kind, listed, level)
    return styles
