"""What the reader of RTF keeps of a group, and of a stream of text, while it reads on.

Groups of formulas are elements of Office Math, with an m before the names of these.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

from pipeline.parse.encoding import codepages
from pipeline.parse.markup.formula import formula_text
from pipeline.parse.office.rtf_looks import Ground, Letters
from pipeline.parse.office.word.fields import Field
from pipeline.parse.sight.symbols import has_signs, shown_in
from pipeline.parse.writer import TextWriter

_OF_SIGNS = 2  # the character set of symbol fonts
_DEEPEST = 100  # of the groups of a formula
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Flow:
    """A stream of text: the body, a header, a footnote. `line` gathers until a paragraph or a cell ends.

    `written` is what a writer is to be told: it comes late, as footers and remarks do not stand where they are read.
    """

    kind: str = "body"
    word: str = ""  # the control word that opened it
    written: list[Callable[[TextWriter], None]] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    built: bool = False  # the line ends in a formula

    def tell(self, writer: TextWriter) -> None:
        """Write all of it."""
        for write in self.written:
            write(writer)


@dataclass
class Group:
    """The state that an opening brace saves and its partner restores."""

    silent: bool = False
    deleted: bool = False
    hidden: bool = False  # marked as such (\\v)
    encoding: str = "cp1252"
    substitute: int = 1  # characters after \u that stand for it
    aside: Flow | None = None  # the flow that this group opened
    in_table: bool = False
    level: int = 0  # of the heading that the paragraph is, 0 for none
    letters: Letters = field(default_factory=Letters)
    ground: Ground = field(default_factory=Ground)
    font: int = -1  # -1: that of the document
    part: str = ""  # of a field: "fldinst" for its code, "ffl" for an entry of its list; "box" for a text box
    of_field: Field | None = None
    unknown: str = ""  # the control word behind \\* that this group is silent for, and that no table has
    formula: etree._Element | None = None  # the part of it that this group is


@dataclass
class Fonts:
    """The fonts of a document by number: their encodings, their names, and which have signs alone."""

    encodings: dict[int, str] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    _of_signs: dict[int, bool] = field(default_factory=dict)  # and whether their character set says so
    _font: int = -1  # the one that the font table describes

    def describe(self, word: str, value: int | None) -> None:
        """Take up a control word of the font table."""
        if word == "f":
            self._font = value or 0
            self._names[self._font] = ""
        elif word in {"fcharset", "cpg"}:
            if word == "fcharset" and value == _OF_SIGNS:
                self._of_signs[self._font] = True
            encoding = codepages.of_charset(value or 0) if word == "fcharset" else codepages.of_page(value or 0)
            if encoding and not (word == "fcharset" and (value or 0) in {0, 1}):
                self.encodings[self._font] = encoding

    def add_name(self, text: str) -> None:
        """Take up a part of a font's name."""
        name = self._names[self._font] = self._names.get(self._font, "") + text
        if has_signs(name.strip(" ;")):
            self._of_signs.setdefault(self._font, False)

    def shown(self, font: int, text: str) -> str:
        """The text as a font shows it."""
        if font not in self._of_signs and text.isascii():
            return text
        return shown_in(self._names.get(font, ""), text, of_signs=self._of_signs.get(font, False))


def paired(halves: str) -> str:
    """The character of two surrogates; U+FFFD for what are none."""
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def begun(word: str, own: etree._Element | None, outer: etree._Element | None) -> etree._Element | None:
    """The part of a formula that a group is after a control word; `own` and `outer` are its part and the one around."""
    if own is None:
        return etree.Element("oMath") if word == "moMath" else None
    deep = sum(1 for _ in own.iterancestors())
    if own is not outer or deep >= _DEEPEST:
        return own  # what follows the first word is a property
    return etree.SubElement(own, word[1:] or "r")


def add_text(part: etree._Element, text: str) -> None:
    """Add text to a part of a formula; that of a sign, such as a bracket, is its value."""
    text = _NO_XML.sub("", text)
    if part.tag.endswith("hr"):
        part.set("val", part.get("val", "") + text)
        return
    if not len(part) or part[-1].tag != "t":
        etree.SubElement(part, "t")
    part[-1].text = (part[-1].text or "") + text


def whole(part: etree._Element) -> str:
    """The whole formula that a part is of, in one line."""
    return formula_text(part.getroottree().getroot())
