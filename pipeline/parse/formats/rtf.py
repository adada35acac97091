"""Rich Text Format 1.9.1: text, tables, text boxes, headers, footnotes and remarks; no deleted text.

Bytes are of the code page of the font in use; text that is not ASCII often comes twice, as \\uN and as a substitute of
\\uc characters, which are skipped.
"""

import re
from dataclasses import replace

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.encoding import codepages
from pipeline.parse.office.rtf_looks import ASIDE, CHARACTERS, KNOWN, SILENT, SPOKEN, SYMBOLS, WITHIN, Paper
from pipeline.parse.office.rtf_state import Flow, Fonts, Group, add_text, begun, paired, whole
from pipeline.parse.office.word.fields import Field, doubts, drawn
from pipeline.parse.writer import TextWriter

PARSER = "rtf/6"
_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\(.)|([{}])|[\r\n\x00]+|([^\\{}\r\n\x00]+|.)", re.DOTALL
)
_UNSAID = 25  # the value of a form field that says none
_BOX = "box"  # what a group is a part of, beside fields
_BODY_BEGINS = {"pard", "plain", "sectd", "par"}
_BESIDE_TEXT = {("shpwr", 1), ("shpwr", 2), ("shpwr", 4), ("shpfblwtxt", 1)}
_BODY = 9  # the outline level of text that is no heading


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
    if reader.unknown:
        words = ", ".join(f"\\*\\{word}" for word in list(reader.unknown)[:3])
        count = sum(reader.unknown.values())
        notes.append(f"parts of a kind that is not known, left out: {count} characters ({words})")
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
        self.unknown: dict[str, int] = {}  # characters left out, by the control word behind \\*
        self._writer = writer
        self._asides: list[Flow] = []
        self._footnotes = 0
        self._body = self._flow = Flow()
        self._flows: list[Flow] = []
        self._group = Group()
        self._stack: list[Group] = []
        self._fonts = Fonts()
        self._field_of: dict[int, Field] = {}  # by the depth of its group
        self._page = "cp1252"
        self._default_font = -1
        self._in_fonts = 0  # the depth of the font table, 0 outside
        self._in_colours = 0  # the depth of the table of colours, 0 outside
        self._paper = Paper()
        self._bytes = bytearray()
        self._property = self._value = ""  # of a shape, the last
        self._in_front: list[bool] = []  # of each drawing, whether it may lie over text
        self._head = True  # whether what is said is about the whole document
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
                if symbol == b"*":
                    self._starred = True
                elif symbol in b"\\{}":
                    self._character(symbol)
                elif symbol in {b"\n", b"\r"}:
                    self._word("par", None)
                else:
                    self._flush()
                    self._put(SYMBOLS.get(symbol, ""))
            elif text:
                self._text(text)
        self._flush()
        if any(self._in_front):
            self._writer.doubt("drawings may lie over text")
        self._end_formula(Group())
        while self._flows:
            self._end_paragraph()
            self._flow = self._flows.pop()
        self._end_paragraph()

    def write(self) -> None:
        """Write headers, body, footnotes, remarks, footers: each distinct text of an aside once."""
        for kind in ("header", "body", "footnote", "annotation", "footer"):
            if kind == "body":
                self._writer.gap()
                self._body.tell(self._writer)
                self._writer.gap()
                continue
            texts = [text for flow in self._asides if flow.kind == kind and (text := self._text_of(flow))]
            if kind == "footnote":
                texts = ["\n".join(f"[{place}] {text.strip()}" for place, text in enumerate(texts, start=1))]
            elif kind == "annotation":
                texts = [f"Comment: {text}" for text in texts if text.strip()]
            for text in dict.fromkeys(texts):
                self._writer.block(text)

    def _text_of(self, aside: Flow) -> str:
        inner = self._writer.inner()
        aside.tell(inner)
        text = inner.finish()[0]
        unshown = aside.kind in {"header", "footer"} and aside.word not in self._paper.shows
        return "" if unshown and self._writer.hide("marked_hidden", text) else text

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
        if self._group.part == _BOX and self._stack and self._stack[-1].part != _BOX:
            self._put("\n")
        if self._group.part == "sp" and self._stack:
            self._stack[-1].ground = self._stack[-1].ground.drawn(self._property, self._value)
        self._end_formula(self._stack.pop() if self._stack else Group())
        if ended := self._field_of.pop(self.depth + 1, None):
            for reason in doubts(ended):
                self._writer.review(reason)
            if ended.name == "FORMCHECKBOX":
                self._put("[x]" if ended.choice else "[ ]")
            self._put(drawn(ended))

    def _end_formula(self, outer: Group) -> None:
        """Go back to an outer group; a formula that ends with the inner one is put into the line."""
        formula, self._group = self._group.formula, outer
        if formula is not None and outer.formula is None:
            self._put(whole(formula), built=True)

    def _word(self, word: str, value: int | None) -> None:
        self._flush()
        starred, self._starred = self._starred, False
        self._skip = 0
        if word in ASIDE and not self._group.silent:
            aside = Flow(ASIDE[word], word)
            if word == "footnote":
                self._footnotes += 1
                self._flow.line.append(f"[{self._footnotes}]")
            self._asides.append(aside)
            self._flows.append(self._flow)
            self._flow = self._group.aside = aside
            self._group.in_table, self._group.formula = False, None
        elif word in SPOKEN:
            of_field = self._group.of_field
            self._group.silent = word == "fldrslt" and of_field is not None and of_field.chosen is not None
            if word == "ud":
                self._group.silent = len(self._stack) > 1 and self._stack[-2].silent
            self._group.part = ""
            self._in_front += [True] if word == "shpinst" else []
            if word in {"shptxt", "dptxbxtext"}:
                self._begin_box()
        elif word == "sv" and self._property == "gtextUNICODE" and not self._group.unknown:  # text drawn as a picture
            self._group.silent = False
            self._begin_box()
        elif word in {"moMath", "moMathPara"} or (self._group.formula is not None and word[0] == "m"):
            self._group.formula = begun(word, self._group.formula, self._stack[-1].formula if self._stack else None)
        elif word in SILENT or starred:
            known = word in SILENT or word in KNOWN or (self._group.silent and not self._group.unknown)
            self._group.unknown = "" if known else self._group.unknown or word
            self._group.silent = True
            self._group.part = word
            self._property = "" if word == "sn" else self._property
            self._value = ""
            if word == "ffl" and self._group.of_field:
                self._group.of_field.entries.append("")
            self._in_fonts = self.depth if word == "fonttbl" else self._in_fonts
            self._in_colours = self.depth if word == "colortbl" else self._in_colours
            self._paper.take(word, value)
            self._in_front += [True] if word == "do" else []
            self.pictures += word == "pict"
            self.objects += word == "objdata"
        elif self._in_fonts:
            self._fonts.describe(word, value)
        elif self._in_colours:
            self._paper.describe(word, value)
        else:
            self._group.letters = self._group.letters.changed(word, value)
            self._head = self._head and word not in _BODY_BEGINS
            if not self._head or self.depth > 1 or word in WITHIN:  # others there are about the program that wrote it
                self._group.ground = self._group.ground.changed(word, value)
            self._paper.take(word, value)
            self._format(word, value)

    def _begin_box(self) -> None:
        """A text begins that is drawn apart from the line in which it stands."""
        self._group.part, self._group.ground = _BOX, replace(self._group.ground, in_shape=True)
        self._put("\n")

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
            group.encoding = self._fonts.encodings.get(-1 if font is None else font, self._page)
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
                self._put(text if len(text) == 1 else paired(text))
            self._skip = group.substitute
        elif (word, value) in _BESIDE_TEXT and self._in_front:
            self._in_front[-1] = False
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
        elif word == "par" and (group.ground.dropped or (group.hidden and self._writer.drops_hidden)):
            return  # the next paragraph goes on in its line
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
            self._fonts.add_name(self._bytes.decode("latin-1"))
        if self._bytes and (of_field := self._group.of_field):
            if self._group.part == "fldinst":
                of_field.code += self._bytes.decode(self._group.encoding, "replace")
            elif self._group.part == "ffl":
                of_field.entries[-1] += self._bytes.decode(self._group.encoding, "replace")
        if self._group.part == "sn":
            self._property += self._bytes.decode("latin-1")
        elif self._group.part == "sv":
            self._value += self._bytes.decode("latin-1")
        if self._in_colours:
            self._paper.end_colours(self._bytes.count(b";"))
        if self._bytes and (self._group.unknown or not (self._group.silent or self._group.deleted)):
            data = bytes(self._bytes)
            try:
                self._put(data.decode(self._group.encoding))
            except UnicodeDecodeError:
                self.bad_bytes += 1
                self._put(data.decode(self._group.encoding, "replace"))
        self._bytes.clear()

    def _put(self, text: str, *, built: bool = False) -> None:
        group, flow = self._group, self._flow
        if group.unknown and group.silent and not text.isspace():
            self.unknown[group.unknown] = self.unknown.get(group.unknown, 0) + len(text)
        if group.silent or group.deleted:
            return
        if group.of_field:
            group.of_field.add_result(text)
        font = self._default_font if group.font < 0 else group.font
        text = group.letters.marked(self._fonts.shown(font, text))
        cell = len(flow.row) if group.in_table else None
        self._head = self._head and text.isspace()
        look = self._paper.look(group.letters, group.ground, cell)
        lost = None if text.isspace() else look.hides
        kind = "marked_hidden" if group.hidden else lost
        if kind and self._writer.hide(kind, text):
            return
        if look.doubts:
            self._writer.doubtful(look.doubts, text)
        if group.formula is not None:
            add_text(group.formula, text)
            return
        if (built or flow.built) and text[:1].isdigit() and flow.line and flow.line[-1][-1:].isdigit():
            flow.line.append(" ")  # one and a half is no 11/2
        flow.line.append(text)
        flow.built = built

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
