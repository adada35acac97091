"""Word 97 to 2003 ([MS-DOC]): the stories of a document, laid out as by docx.py.

Order: headers, body, text boxes, footnotes and endnotes, comments, footers. Of fields the result counts, not the
instruction; deletions do not count.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.office.binary.ole import CompoundFile
from pipeline.parse.office.binary.word import Characters, Paragraph, Style, WordText, whole
from pipeline.parse.office.binary.word_forms import read_form
from pipeline.parse.office.embedded import add_objects
from pipeline.parse.office.word.fields import Field, doubts, drawn
from pipeline.parse.sight.symbols import shown_in
from pipeline.parse.writer import TextWriter

PARSER = "doc/2"
_ENDS = re.compile("[\r\x07\x0c]")
_SPECIAL = re.compile("[\x0b\x0e\x1e\x1f\x02]")
_SIGNS = {"\x0b": "\n", "\x0e": "\n", "\x1e": "-"}
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f]")
_FIELD = re.compile("[\x13-\x15]")
_TITLE = 62
_MOST = 1000  # characters of a code and of a result that are looked at
_HEADERS, _FOOTERS = (0, 1, 4), (2, 3, 5)  # of the six stories of a section
_SEPARATORS = 6  # stories before those of the first section: what stands between text and notes


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError."""
    file = CompoundFile(source.data)
    reading = _Reading(WordText(file, 2 * source.limits.output_characters), source.writer())
    reading.write()
    notes = reading.notes()
    pool = file.root.storages.get("objectpool")
    notes += add_objects(source.members, file, pool.storages.values() if pool else ())
    if not reading.writer.length and reading.pictures and not source.members.finish()[0]:
        raise DocumentError(Failure.NEEDS_OCR, "it holds pictures and no text")
    return finish(source, reading.writer, media_type, PARSER, notes=notes)


class _Reading:
    def __init__(self, word: WordText, writer: TextWriter) -> None:
        self.writer = writer
        self.pictures = 0
        self._word = word
        self._text = word.text
        self._looks = sorted((run for run in word.runs if word.is_marked(run[2])), key=_begin)
        self._forms = sorted((run for run in word.runs if run[2].form is not None), key=_begin)
        self._marks: dict[int, str] = {}  # what is shown for the mark of a note, by its position
        self._row: list[str] = []
        self._cell: list[str] = []
        self._in_table = False

    def write(self) -> None:
        """Write all stories: headers, body, text boxes, notes, comments, footers."""
        self._leave_out()
        notes = [self._refer(2, "[{}]"), self._refer(46, "[e{}]")]
        self._write_headers(_HEADERS)
        for text in self._parts("header boxes", 58, 22):
            self.writer.block(text)
        self._paragraphs(*self._word.stories["body"])
        self.pictures = self._text.count("\x01") + self._text.count("\x08")
        for text in self._parts("boxes", 56, 22):
            self.writer.block(text)
        for (name, number), marks in zip((("footnotes", 3), ("endnotes", 47)), notes, strict=True):
            self._write_notes(name, number, marks)
        self._write_comments()
        self._write_headers(_FOOTERS)

    def notes(self) -> list[str]:
        """Notes for the row: pictures that were not read, and characters that are missing."""
        notes = []
        if pictures := self._text.count("\x01"):
            notes.append(f"pictures not read: {pictures}")
        if self._word.missing > 0:
            notes.append(f"characters that it should have and has not: {self._word.missing}")
        return notes

    def _leave_out(self) -> None:
        """Blank what is not shown: deletions, instructions of fields, hidden text; positions stay as they are."""
        runs = self._word.runs
        self._text = _replaced(self._text, [(a, b, "\0" if look.deleted else look.symbol) for a, b, look in runs])
        spans = [span for start, end in self._word.stories.values() for span in self._instructions(start, end)]
        fields = [(span, self._field(*span)) for span in spans]
        gone = [(a, b if field.chosen is None else end, "\0") for (a, b, end), field in fields]
        self._text = _replaced(self._text, sorted(gone))
        for (begin, _, _), field in fields:
            for reason in doubts(field):
                self.writer.review(reason)
            checked = "[x]" if field.choice else "[ ]"
            self._marks[begin] = checked if field.name == "FORMCHECKBOX" else drawn(field)
        self._text = _replaced(
            self._text, [(begin, begin + 1, "\x02") for begin in _shown(spans) if self._marks[begin]]
        )
        hidden = [(a, b) for a, b, look in sorted(runs, key=lambda run: run[:2]) if look.hidden and not look.deleted]
        seen = ((a, b, _CONTROLS.sub("", self._text[a:b])) for a, b in hidden)
        gone = [(a, b, "\0") for a, b, text in seen if self.writer.hide("marked_hidden", text)]
        self._text = _replaced(self._text, gone)

    def _field(self, begin: int, separator: int, end: int) -> Field:
        """A field: its code, its result, and what the form has of it."""
        field = Field()
        field.code = self._text[begin + 1 : min(separator, begin + _MOST)]
        field.add_result(self._text[separator + 1 : min(end, separator + _MOST)].replace("\0", ""))
        for a, _, look in self._forms[bisect_right(self._forms, begin, key=_begin) :]:
            if a > end or not field.name.startswith("FORM") or look.form is None:
                break
            field.entries, field.choice = read_form(self._word.data, look.form) or (field.entries, field.choice)
        return field

    def _instructions(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """The begin of each field, the begin of its result and its end; a field without an end is none."""
        found, opened = [], list[tuple[int, int]]()  # of each open field its begin and its separator
        for match in _FIELD.finditer(self._text, start, end):
            if match.group() == "\x13":
                opened.append((match.start(), 0))
            elif opened and match.group() == "\x14":
                opened[-1] = opened[-1][0], match.start()
            elif opened:
                begin, separator = opened.pop()
                found.append((begin, separator or match.start(), match.start()))
        return found

    def _refer(self, number: int, form: str) -> list[str]:
        references = self._word.positions(number, 2)[:-1]
        marks = [form.format(place) for place in range(1, len(references) + 1)]
        self._marks.update(zip(references, marks, strict=True))
        return marks

    def _parts(self, name: str, number: int, width: int) -> list[str]:
        """The texts into which a PLC cuts a story."""
        start, end = self._word.stories[name]
        inside = [start + cut for cut in self._word.positions(number, width) if 0 < cut < end - start]
        cuts = sorted({start, end, *inside})
        return [self._inner(*part) for part in pairwise(cuts)]

    def _inner(self, start: int, end: int) -> str:
        outer, self.writer = self.writer, self.writer.inner()
        self._paragraphs(start, end)
        inner, self.writer = self.writer, outer
        return inner.finish()[0]

    def _write_headers(self, kinds: tuple[int, ...]) -> None:
        """Write headers or footers, each text once."""
        start, end = self._word.stories["headers"]
        cuts = sorted(min(start + cut, end) for cut in self._word.positions(11, 0))
        parts = [part for place, part in enumerate(pairwise(cuts[_SEPARATORS:])) if place % 6 in kinds]
        for text in dict.fromkeys(self._inner(*part) for part in parts if part[0] < part[1]):
            self.writer.block(text)

    def _write_notes(self, name: str, number: int, marks: list[str]) -> None:
        self.writer.gap()
        texts = [text.lstrip() for text in self._parts(name, number, 0)]
        for place, text in enumerate(texts):
            if text:
                self.writer.line(f"{marks[place]} {text}" if place < len(marks) else text)
        self.writer.gap()

    def _write_comments(self) -> None:
        owners, data = _strings(self._word.part(36)), self._word.part(4)
        count = max(0, (len(data) - 4) // 34)
        self.writer.gap()
        for place, text in enumerate(self._parts("comments", 5, 0)):
            number = data[4 * (count + 1) + 30 * place + 20 :][:2] if place < count else b""
            author = dict(enumerate(owners)).get(int.from_bytes(number, "little"), "") if number else ""
            if text:
                self.writer.line(f"Comment{f' ({author})' if author else ''}: {text.lstrip()}")
        self.writer.gap()

    def _paragraphs(self, start: int, end: int) -> None:
        at = start
        for match in _ENDS.finditer(self._text, start, end):
            look = self._word.paragraphs.get(match.start(), Paragraph())
            text = self._shown(at, match.start())
            self._paragraph(self._label(look) + text if text.strip() else text, match.group(), look)
            at = match.end()
        self._paragraph(self._shown(at, end), "\r", Paragraph())
        self._table(False)

    def _label(self, look: Paragraph) -> str:
        style = self._word.styles.get(look.style, Style())
        number = style.listed if look.listed is None else look.listed
        level = style.level if look.level is None else look.level
        return self._word.lists.label(number or 0, level or 0)

    def _paragraph(self, text: str, mark: str, look: Paragraph) -> None:
        in_table = look.in_table or mark == "\x07"
        self._table(in_table)
        if in_table:
            if mark == "\x07" and look.row_end:
                self._end_row()
            elif mark == "\x07":
                self._row.append("".join([*self._cell, text]).rstrip("\n"))
                self._cell.clear()
            elif not look.inner_row:
                self._cell.append(text + (" " if look.inner_cell else "\n"))
            else:
                self._cell.append("\n")
            return
        kind = self._word.styles.get(look.style, Style()).kind
        level = kind if 1 <= kind <= 9 else int(kind == _TITLE)
        if level and text.strip():
            self.writer.heading(text.strip(), level)
        elif text.strip():
            self.writer.line(text)
        if not text.strip() or mark == "\x0c":
            self.writer.gap()

    def _table(self, inside: bool) -> None:
        if inside != self._in_table:
            self._end_row()
            self.writer.gap()
        self._in_table = inside

    def _end_row(self) -> None:
        if self._cell:
            self._row.append("".join(self._cell))
        if self._row:
            self.writer.cells(self._row)
        self._row, self._cell = [], []

    def _shown(self, start: int, end: int) -> str:
        """The text between two positions, each run of it as it is drawn; marks of notes stand as they are."""
        if not self._looks:
            return shown_in("", self._plain(start, end))
        pieces, at = [], start
        for number in range(max(0, bisect_right(self._looks, start, key=_begin) - 1), len(self._looks)):
            a, b, look = self._looks[number]
            a, b = max(a, at), min(b, end)
            if a >= end:
                break
            if a < b and "\x02" not in self._text[a:b]:
                pieces += [shown_in("", self._plain(at, a)), self._word.drawn(self._plain(a, b), look)]
                at = b
        return "".join([*pieces, shown_in("", self._plain(at, end))])

    def _plain(self, start: int, end: int) -> str:
        def shown(sign: re.Match[str]) -> str:
            return self._marks.get(start + sign.start(), "") if sign[0] == "\x02" else _SIGNS.get(sign[0], "")

        return whole(_SPECIAL.sub(shown, self._text[start:end]))


def _shown(fields: list[tuple[int, int, int]]) -> Iterator[int]:
    """The begin of each field that is in the code of no other one, in their order."""
    code = -1
    for begin, separator, _ in sorted(fields):
        if begin > code:
            yield begin
        code = max(code, separator)


def _begin(run: tuple[int, int, Characters]) -> int:
    return run[0]


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    """The text with spans overwritten by their character; a span with "" stays. Spans ascend and may overlap."""
    pieces, at = [], 0
    for start, end, character in spans:
        start = max(start, at)
        if start < end and character:
            pieces += [text[at:start], character * (end - start)]
            at = end
    return "".join([*pieces, text[at:]])


def _strings(data: bytes) -> list[str]:
    found, at = [], 0
    while at + 2 <= len(data):
        length = 2 * struct.unpack_from("<H", data, at)[0]
        found.append(data[at + 2 : at + 2 + length].decode("utf-16-le", "replace"))
        at += 2 + length
    return found
