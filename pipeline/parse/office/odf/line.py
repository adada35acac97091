"""A line of OpenDocument: white space, and the numbers and bullets that are drawn before items of lists and headings.

(ODF 1.3-3, 5.3, 16.30.) An item has the level of its nesting. A list begins to count anew, unless it continues one of
its style or by name; a level does so when an item of a higher one has come between.
"""

import re
from collections.abc import Callable

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.numerals import format_number, tick
from pipeline.parse.office.odf.document import attribute, full, name_of
from pipeline.parse.office.odf.styles import Styles, said_by

BLANKS = {"text:s": " ", "text:tab": "\t", "text:line-break": "\n"}
"""The elements that stand for white space."""
_WHITE = re.compile("[ \t\r\n]+")
_MOST_BLANKS = 100  # that one text:s stands for: more have no other meaning
_LEVELS = 10
_FORMS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_PLACE = re.compile(r"%(\d+)%")
_Counts = list[int | None]


class Line:
    """The text of a paragraph as it gathers: a run of white space in the XML is one space, and none at either end."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._takes_space = False

    def literal(self, text: str, drawn: Callable[[str], str] = str) -> None:
        """Add text of the XML as it is drawn; a run of white space is one space (ODF 1.3, part 3, 6.1.2)."""
        text = _WHITE.sub(" ", text)
        if not self._takes_space:
            text = text.removeprefix(" ")
        if text:
            self._pieces.append(drawn(text))
            self._takes_space = text[-1] != " "

    def exact(self, text: str) -> None:
        """Add the text that an element stands for, every character of which counts."""
        if text:
            self._pieces.append(text)
            self._takes_space = True

    def blank(self, element: etree._Element) -> None:
        """Add the white space that one of BLANKS stands for."""
        name = name_of(element.tag)
        times = min(whole_number(attribute(element, "text:c"), 1), _MOST_BLANKS) if name == "text:s" else 1
        self.exact(BLANKS[name] * times)

    def finish(self) -> str:
        """The whole text of the line, without a space at its end that only the XML put there."""
        text = "".join(self._pieces)
        return text if self._takes_space else text.removesuffix(" ")


class Lists:
    """The lists of one text, as its text comes by."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._open: list[tuple[str, _Counts]] = []  # the style of each, and how far its levels have counted
        self._by_name: dict[str, _Counts] = {}
        self._by_style: dict[str, _Counts] = {}
        self._headings: _Counts = [None] * _LEVELS

    def begin(self, element: etree._Element) -> None:
        """A text:list begins, maybe inside another."""
        style = attribute(element, "text:style-name")
        if self._open:
            outer, counts = self._open[-1]
            self._open.append((style or outer, counts))
            return
        name = attribute(element, "text:continue-list")
        before = self._by_name.get(name) if name else None
        if before is None and attribute(element, "text:continue-numbering") == "true":
            before = self._by_style.get(style)
        counts = before or [None] * _LEVELS
        self._open.append((style, counts))
        self._by_name[attribute(element, "xml:id")] = self._by_style[style] = counts

    def end(self) -> None:
        """The innermost list ends."""
        self._open.pop()

    def label(self, item: etree._Element) -> str:
        """Count an item of the innermost list, and return its label with a space after it; "" where it has none."""
        (style, counts), start = self._open[-1], attribute(item, "text:start-value")
        start_at = whole_number(start, 0) if start else None
        return self._count(self._styles.levels(style), min(len(self._open), _LEVELS), counts, start_at)

    def heading(self, level: int) -> str:
        """Count a heading outside of all lists, and return its label with a space after it; "" where it has none."""
        return self._count(self._styles.outline, min(max(1, level), _LEVELS), self._headings, None)

    def _count(self, levels: dict[int, etree._Element], place: int, counts: _Counts, start: int | None) -> str:
        level, before = levels.get(place), counts[place - 1]
        if start is None:
            start = before + 1 if before is not None else 1 if level is None else _start(level)
        counts[place - 1 :] = [start, *[None] * (_LEVELS - place)]
        if level is None:
            return ""
        if name_of(level.tag) not in {"text:list-level-style-number", "text:outline-level-style"}:
            sign, said = attribute(level, "text:bullet-char"), level.find(full("style:text-properties"))
            font = None if said is None else self._styles.font(said_by(said))
            return "" if sign.isspace() else tick(sign, font[0] if font else "") or "- "

        def number(place: int) -> str:
            form = attribute(levels[place], "style:num-format") if place in levels else ""
            if not form or place > _LEVELS:
                return ""
            count = counts[place - 1]
            return format_number(_start(levels[place]) if count is None else count, _FORMS.get(form))

        if pattern := attribute(level, "loext:num-list-format"):
            label = _PLACE.sub(lambda match: number(whole_number(match[1], 0)), pattern).strip()
        else:
            shown = min(max(1, whole_number(attribute(level, "text:display-levels"), 1)), place)
            joined = ".".join(filter(None, map(number, range(place - shown + 1, place + 1))))
            label = (attribute(level, "style:num-prefix") + joined + attribute(level, "style:num-suffix")).strip()
        return label + " " if label else ""


def _start(level: etree._Element) -> int:
    return whole_number(attribute(level, "text:start-value"), 1)
