"""A line of OpenDocument: what elements within it stand for (white space, formulas, form fields), and its number.

Numbers and bullets are drawn before the items of lists and before headings (ODF 1.3-3, 5.3, 16.30). An item has the
level of its nesting. A list begins to count anew, unless it continues one of its style or by name; a level does so when
an item of a higher one has come between.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.formula import formula_text
from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.numerals import format_number, tick
from pipeline.parse.office.odf.document import attribute, full, name_of, named
from pipeline.parse.office.odf.styles import Styles

_WHITE = re.compile("[ \t\r\n]+")
_BLANKS = 100  # the most that one text:s stands for: more have no other meaning
_TICKED = {
    "form:checkbox": ("form:current-state", "form:state"),
    "form:radio": ("form:current-selected", "form:selected"),
}


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

    def finish(self) -> str:
        """The whole text of the line, without a space at its end that only the XML put there."""
        text = "".join(self._pieces)
        return text if self._takes_space else text.removesuffix(" ")


def blank(element: etree._Element) -> str:
    """The white space that a text:s, text:tab or text:line-break stands for."""
    name = name_of(element.tag)
    if name == "text:s":
        return " " * min(whole_number(attribute(element, "text:c"), 1), _BLANKS)
    return "\t" if name == "text:tab" else "\n"


def formula_or_source(element: etree._Element) -> str:
    """A formula (MathML) in one line; where it shows nothing, the source that its annotation gives."""
    return formula_text(element) or " ".join(one.text or "" for one in element.iter(full("math:annotation")))


def control_text(control: etree._Element) -> str:
    """The text that a form field shows: its value, the chosen entries, a box with or without a tick, its label."""
    name = name_of(control.tag)
    if name in {"form:password", "form:hidden", "form:properties"}:
        return ""
    if name in _TICKED:
        ticked = _first(control, *_TICKED[name]) in {"checked", "true"}
        return f"[{'x' if ticked else ' '}] {attribute(control, 'form:label')}"
    if name == "form:listbox":
        options, chosen = control.iter(full("form:option")), ("form:current-selected", "form:selected")
        return "\n".join(attribute(one, "form:label") for one in options if _first(one, *chosen) == "true")
    return _first(control, "form:current-value", "form:value", "form:label")


def _first(element: etree._Element, *names: str) -> str:
    return next((value for name in names if (value := attribute(element, name))), "")


def hides_itself(paragraph: etree._Element) -> bool:
    """Whether a field in a paragraph, and not in a box that hangs on it, hides the whole of it."""
    for mark in named(paragraph, "text:hidden-paragraph"):
        outer = mark.getparent()
        while outer is not None and name_of(outer.tag) not in {"text:p", "text:h"}:
            outer = outer.getparent()
        if outer is paragraph and attribute(mark, "text:is-hidden") == "true":
            return True
    return False


_LEVELS = 10
_FORMS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_PLACE = re.compile(r"%(\d+)%")


class List(NamedTuple):
    """An open list: its style, and how far each level has counted."""

    style: str
    counts: list[int | None]


class Lists:
    """The lists of one text, as its text comes by."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._open: list[List] = []
        self._by_name: dict[str, List] = {}
        self._by_style: dict[str, List] = {}
        self._headings: list[int | None] = [None] * _LEVELS

    def begin(self, element: etree._Element) -> None:
        """A text:list begins, maybe inside another."""
        outer = self._open[-1] if self._open else None
        style = attribute(element, "text:style-name") or (outer.style if outer else "")
        counts = outer.counts if outer else self._continued(element, style)
        one = List(style, counts)
        self._open.append(one)
        if outer is None:
            self._by_name[attribute(element, "xml:id")] = self._by_style[style] = one

    def end(self) -> None:
        """The innermost list ends."""
        self._open.pop()

    def label(self, item: etree._Element) -> str:
        """Count an item of the innermost list, and return its label with a space after it; "" where it has none."""
        levels, place = self._styles.levels(self._open[-1].style), min(len(self._open), _LEVELS)
        start = attribute(item, "text:start-value")
        start_at = whole_number(start, 0) if start else None
        return _count(self._styles, levels, place, self._open[-1].counts, start_at)

    def heading(self, level: int) -> str:
        """Count a heading outside of all lists, and return its label with a space after it; "" where it has none."""
        place = min(max(1, level), _LEVELS)
        return _count(self._styles, self._styles.outline, place, self._headings, None)

    def _continued(self, element: etree._Element, style: str) -> list[int | None]:
        name = attribute(element, "text:continue-list")
        before = self._by_name.get(name) if name else None
        if before is None and attribute(element, "text:continue-numbering") == "true":
            before = self._by_style.get(style)
        return before.counts if before else [None] * _LEVELS


def _count(
    styles: Styles, levels: dict[int, etree._Element], place: int, counts: list[int | None], start: int | None
) -> str:
    level, before = levels.get(place), counts[place - 1]
    first = _start(level) if start is None else start
    counts[place - 1] = first if start is not None or before is None else before + 1
    counts[place:] = [None] * (_LEVELS - place)
    if level is None:
        return ""
    if name_of(level.tag) not in {"text:list-level-style-number", "text:outline-level-style"}:
        sign, said = attribute(level, "text:bullet-char"), level.find(full("style:text-properties"))
        font = None if said is None else styles.font({name_of(str(key)): str(one) for key, one in said.attrib.items()})
        return "" if sign.isspace() else tick(sign, font[0] if font else "") or "- "
    label = _pattern(levels, place, counts).strip()
    return label + " " if label else ""


def _pattern(levels: dict[int, etree._Element], place: int, counts: list[int | None]) -> str:
    level = levels[place]
    pattern = attribute(level, "loext:num-list-format")
    if pattern:
        return _PLACE.sub(lambda match: _number(levels, whole_number(match[1], 0), counts), pattern)
    shown = min(max(1, whole_number(attribute(level, "text:display-levels"), 1)), place)
    numbers = [_number(levels, one, counts) for one in range(place - shown + 1, place + 1)]
    joined = ".".join(number for number in numbers if number)
    return attribute(level, "style:num-prefix") + joined + attribute(level, "style:num-suffix")


def _number(levels: dict[int, etree._Element], place: int, counts: list[int | None]) -> str:
    level = levels.get(place)
    form = "" if level is None else attribute(level, "style:num-format")
    if not form or place > _LEVELS:
        return ""
    count = counts[place - 1]
    return format_number(_start(level) if count is None else count, _FORMS.get(form))


def _start(level: etree._Element | None) -> int:
    return 1 if level is None else whole_number(attribute(level, "text:start-value"), 1)


def is_numbered(item: etree._Element) -> bool:
    """Whether a list item has a text of its own, and with it a number, rather than only an inner list."""
    is_item = name_of(item.tag) == "text:list-item"
    return is_item and any(name_of(child.tag) in {"text:p", "text:h"} for child in item)
