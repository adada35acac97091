"""Rich Text Format 1.9.1: text, tables, text boxes, headers, footnotes and remarks; no deleted text.

Bytes are of the code page of the font in use; text that is not ASCII often comes twice, as \\uN and as a substitute of
\\uc characters, which are skipped.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding import codepages
from pipeline.parse.look.symbols import has_signs, shown_in
from pipeline.parse.office.rtf_looks import ASIDE, CHARACTERS, SILENT, SPOKEN, SYMBOLS, Ground, Letters, Paper
from pipeline.parse.office.word.fields import Field, doubts, drawn
from pipeline.parse.writer import TextWriter

PARSER = "rtf/4"
_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\(.)|([{}])|[\r\n\x00]+|([^\\{}\r\n\x00]+|.)", re.DOTALL
)
_OF_SIGNS = 2  # the character set of symbol fonts
_UNSAID = 25  # the value of a form field that says none
_BODY = 9  # the outline level of text that is no heading


@dataclass
class _Group:
    """The state that an opening brace saves and its partner restores."""

    silent: bool = False
    deleted: bool = False
    hidden: bool = False  # marked as such (\\v)
    encoding: str = "cp1252"
    substitute: int = 1  # characters after \u that stand for it
    aside: "_Flow | None" = None  # the flow that this group opened
    in_table: bool = False
    level: int = 0  # of the heading that the paragraph is, 0 for none
    letters: Letters = field(default_factory=Letters)
    ground: Ground = field(default_factory=Ground)
    font: int = -1  # -1: that of the document
    part: str = ""  # of a field: "fldinst" for its code, "ffl" for an entry of its list
    of_field: Field | None = None


@dataclass
class _Flow:
    """A stream of text: the body, a header, a footnote. `line` gathers until a paragraph or a cell ends.

    `written` is what a writer is to be told: it comes late, as footers and remarks do not stand where they are read.
    """

    kind: str = "body"
    written: list[Callable[[TextWriter], None]] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)


def is_mine(source: Source) -> bool:
    """Whether the first group of the document is that of RTF, behind a byte order mark or white space."""
    return source.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{\\rtf")


def parse(source: Source, media_type: str) -> Parsed:
    """The document; raises DocumentError."""
    writer = source.writer()
    notes = write_rtf(writer, source.data)
    return finish(source, writer, media_type, PARSER, notes=notes)


def write_rtf(writer: TextWriter, data: bytes) -> list[str]:
    """Write the text of an RTF document; returns notes for the row."""
    reader = _Reader(writer)
    reader.read(data)
    notes = []
    if reader.bad_bytes:
        notes.append(f"{reader.bad_bytes} stretches of bytes are not valid in their code page")
    if reader.pictures:
        notes.append(f"pictures not read: {reader.pictures}")
    if reader.objects:
        notes.append(f"embedded files not read: {reader.objects}")
    if reader.depth > 0:
        notes.append("the file ends before the document does")
    reader.write()
    return notes


class _Reader:
    """The state of reading, from the first brace to the one that closes it."""

    def __init__(self, writer: TextWriter) -> None:
        self.bad_bytes = 0
        self.pictures = 0
        self.objects = 0
        self.depth = 0
        self._writer = writer
        self._asides: list[_Flow] = []
        self._footnotes = 0
        self._body = self._flow = _Flow()
        self._flows: list[_Flow] = []
        self._group = _Group()
        self._stack: list[_Group] = []
        self._fonts: dict[int, str] = {}
        self._names: dict[int, str] = {}  # of fonts
        self._of_signs: dict[int, bool] = {}  # fonts that have no letters, and whether their character set says so
        self._field_of: dict[int, Field] = {}  # by the depth of its group
        self._page = "cp1252"
        self._default_font = -1
        self._in_fonts = 0  # the depth of the font table, 0 outside
        self._in_colours = 0  # the depth of the table of colours, 0 outside
        self._paper = Paper()
        self._font = -1  # the one that the font table describes
        self._bytes = bytearray()
        self._skip = 0
        self._starred = False
        self._high = ""  # the first half of a character that comes in two

    def read(self, data: bytes) -> None:
        """Read all tokens of the document."""
        place = max(0, data.find(b"{"))
        while match := _TOKEN.match(data, place):
            place = match.end()
            word, number, code, symbol, brace, text = match.groups()
            if brace:
                self._brace(brace)
                if self.depth == 0:
                    break
            elif word:
                value = int(number) if number else None
                if word == b"bin":
                    place += max(0, value or 0)
                else:
                    self._word(word.decode("ascii"), value)
            elif code:
                self._character(bytes.fromhex(code.decode("ascii")))
            elif symbol:
                self._symbol(symbol)
            elif text:
                self._text(text)
        self._flush()
        while self._flows:
            self._end_paragraph()
            self._flow = self._flows.pop()
        self._end_paragraph()

    def write(self) -> None:
        """Write headers, body, footnotes, remarks, footers: each distinct text of an aside once."""
        for kind in ("header", "body", "footnote", "annotation", "footer"):
            if kind == "body":
                self._writer.gap()
                _tell(self._writer, self._body)
                self._writer.gap()
                continue
            texts = [self._text_of(flow) for flow in self._asides if flow.kind == kind]
            if kind == "footnote":
                texts = ["\n".join(f"[{place}] {text.strip()}" for place, text in enumerate(texts, start=1))]
            elif kind == "annotation":
                texts = [f"Comment: {text}" for text in texts if text.strip()]
            for text in dict.fromkeys(texts):
                self._writer.block(text)

    def _text_of(self, aside: _Flow) -> str:
        inner = self._writer.inner()
        _tell(inner, aside)
        return inner.finish()[0]

    def _brace(self, brace: bytes) -> None:
        self._flush()
        self._skip, self._starred = 0, False
        if brace == b"{":
            self.depth += 1
            self._stack.append(self._group)
            self._group = replace(self._group, aside=None)
            return
        self.depth -= 1
        if self._group.aside is not None:
            self._end_paragraph()
            self._flow = self._flows.pop()
        self._in_fonts = 0 if self.depth < self._in_fonts else self._in_fonts
        self._in_colours = 0 if self.depth < self._in_colours else self._in_colours
        self._group = self._stack.pop() if self._stack else _Group()
        if ended := self._field_of.pop(self.depth + 1, None):
            self._end_field(ended)

    def _end_field(self, ended: Field) -> None:
        for reason in doubts(ended):
            self._writer.review(reason)
        if ended.name == "FORMCHECKBOX":
            self._put("[x]" if ended.choice else "[ ]")
        self._put(drawn(ended))

    def _word(self, word: str, value: int | None) -> None:
        self._flush()
        starred, self._starred = self._starred, False
        self._skip = 0
        if word in ASIDE and not self._group.silent:
            self._open_aside(ASIDE[word])
        elif word in SPOKEN:
            of_field = self._group.of_field
            self._group.silent = word == "fldrslt" and of_field is not None and of_field.chosen is not None
            self._group.part = ""
            if word == "shptxt":
                self._group.ground = replace(self._group.ground, in_shape=True)
        elif word in SILENT or starred:
            self._group.silent = True
            self._group.part = word
            if word == "ffl" and self._group.of_field:
                self._group.of_field.entries.append("")
            self._in_fonts = self.depth if word == "fonttbl" else self._in_fonts
            self._in_colours = self.depth if word == "colortbl" else self._in_colours
            self._paper.take(word, value)
            self.pictures += word == "pict"
            self.objects += word == "objdata"
        elif self._in_fonts:
            self._describe_font(word, value)
        elif self._in_colours:
            self._paper.describe(word, value)
        else:
            self._group.letters = self._group.letters.changed(word, value)
            self._group.ground = self._group.ground.changed(word, value)
            self._paper.take(word, value)
            self._format(word, value)

    def _describe_font(self, word: str, value: int | None) -> None:
        if word == "f":
            self._font = value or 0
            self._names[self._font] = ""
        elif word in {"fcharset", "cpg"}:
            if word == "fcharset" and value == _OF_SIGNS:
                self._of_signs[self._font] = True
            encoding = codepages.of_charset(value or 0) if word == "fcharset" else codepages.of_page(value or 0)
            if encoding and not (word == "fcharset" and (value or 0) in {0, 1}):
                self._fonts[self._font] = encoding

    def _format(self, word: str, value: int | None) -> None:
        group = self._group
        if word == "ansicpg":
            self._page = group.encoding = codepages.of_page(value or 0) or self._page
        elif word in {"mac", "pc", "pca"}:
            self._page = group.encoding = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word == "deff":
            self._default_font = value or 0
        elif word in {"f", "af"} or word == "plain":
            font = self._default_font if word == "plain" else value
            group.encoding = self._fonts.get(-1 if font is None else font, self._page)
            group.font = group.font if word == "af" else -1 if font is None else font
            group.hidden = group.hidden and word != "plain"
            group.deleted = group.deleted and word != "plain"
        elif word == "deleted":
            group.deleted = value != 0
        elif word == "v":
            group.hidden = value != 0
        elif word == "outlinelevel":
            group.level = min(value or 0, _BODY) + 1 if _BODY > (value or 0) >= 0 else 0
        elif word == "field":
            group.of_field, group.part = Field(), ""
            self._field_of[self.depth] = group.of_field
        elif word in {"ffres", "ffdefres"} and group.of_field:
            if value is not None and value != _UNSAID and (word == "ffres" or not group.of_field.choice):
                group.of_field.choice = value
        elif word == "uc":
            group.substitute = max(0, value or 0)
        elif word == "u":
            text, self._high = self._high + chr((value or 0) % 0x10000), ""
            if len(text) == 1 and "\ud800" <= text <= "\udbff":
                self._high = text
            else:
                self._put(text if len(text) == 1 else _paired(text))
            self._skip = group.substitute
        else:
            self._structure(word)

    def _structure(self, word: str) -> None:
        group, flow = self._group, self._flow
        if group.silent or group.deleted:
            return
        if word in CHARACTERS:
            self._put(CHARACTERS[word])
        elif word in {"pard", "intbl"}:
            group.in_table = word == "intbl"
            group.level = 0 if word == "pard" else group.level
        elif word == "par" and group.in_table:
            flow.line.append("\n")
        elif word == "cell":
            flow.row.append(self._taken())
        elif word == "row":
            self._end_row()
        elif word in {"par", "sect", "page", "column"}:
            self._end_paragraph()
            if word != "par":
                flow.written.append(TextWriter.gap)

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._starred = True
        elif symbol in b"\\{}":
            self._character(symbol)
        elif symbol in {b"\n", b"\r"}:
            self._word("par", None)
        else:
            self._flush()
            self._put(SYMBOLS.get(symbol, ""))

    def _character(self, one: bytes) -> None:
        if self._skip:
            self._skip -= 1
        else:
            self._bytes += one

    def _text(self, text: bytes) -> None:
        self._bytes += text[self._skip :]
        self._skip = max(0, self._skip - len(text))

    def _flush(self) -> None:
        """Decode the bytes that have come in one code page."""
        if self._bytes and self._in_fonts and self.depth - self._in_fonts < 2:
            name = self._names[self._font] = self._names.get(self._font, "") + self._bytes.decode("latin-1")
            if has_signs(name.strip(" ;")):
                self._of_signs.setdefault(self._font, False)
        if self._bytes and (of_field := self._group.of_field):
            if self._group.part == "fldinst":
                of_field.code += self._bytes.decode(self._group.encoding, "replace")
            elif self._group.part == "ffl":
                of_field.entries[-1] += self._bytes.decode(self._group.encoding, "replace")
        if self._in_colours:
            self._paper.end_colours(self._bytes.count(b";"))
        if self._bytes and not (self._group.silent or self._group.deleted):
            data = bytes(self._bytes)
            try:
                self._put(data.decode(self._group.encoding))
            except UnicodeDecodeError:
                self.bad_bytes += 1
                self._put(data.decode(self._group.encoding, "replace"))
        self._bytes.clear()

    def _put(self, text: str) -> None:
        group = self._group
        if group.silent or group.deleted:
            return
        if group.of_field:
            group.of_field.add_result(text)
        font = self._default_font if group.font < 0 else group.font
        if font in self._of_signs or not text.isascii():
            text = shown_in(self._names.get(font, ""), text, of_signs=self._of_signs.get(font, False))
        text = group.letters.marked(text)
        cell = len(self._flow.row) if group.in_table else None
        lost = None if text.isspace() else self._paper.hides(group.letters, group.ground, cell)
        kind = "marked_hidden" if group.hidden else lost
        if kind is None or not self._writer.hide(kind, text):
            self._flow.line.append(text)

    def _open_aside(self, kind: str) -> None:
        aside = _Flow(kind)
        if kind == "footnote":
            self._footnotes += 1
            self._flow.line.append(f"[{self._footnotes}]")
        self._asides.append(aside)
        self._flows.append(self._flow)
        self._flow = self._group.aside = aside
        self._group.in_table = False

    def _taken(self) -> str:
        text = "".join(self._flow.line)
        self._flow.line.clear()
        return text

    def _end_row(self) -> None:
        rest = self._taken()
        cells = self._flow.row + ([rest] if rest.strip() else [])
        self._flow.written.append(lambda writer: writer.cells(cells))
        self._flow.row.clear()

    def _end_paragraph(self) -> None:
        if self._flow.row:
            self._end_row()
        text, level = self._taken(), self._group.level
        if not text.strip():
            self._flow.written.append(TextWriter.gap)
        elif level:
            self._flow.written.append(lambda writer: writer.heading(text, level))
        else:
            self._flow.written.append(lambda writer: writer.line(text))


def _paired(halves: str) -> str:
    """The character of two surrogates; U+FFFD for what are none."""
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _tell(writer: TextWriter, flow: _Flow) -> None:
    for write in flow.written:
        write(writer)
