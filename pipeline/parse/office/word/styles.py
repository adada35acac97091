"""The styles of a Word document (ISO/IEC 29500-1, 17.7): lists, headings, how text looks; and the numbers of its lists.

A style says what it does not inherit from the one that it is based on. A chain that leads back to itself ends there.
The numbers that Word draws before paragraphs ("3.2", "(b)", "Article IV") are in no text, yet others refer to them
(17.9). A paragraph names a list (numId) and a level, itself or through its style; a list is an instance of an abstract
one, whose levels have a start, a number format and a pattern such as "%1.%2".
"""

import math
import re
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.drawing.theme import Theme
from pipeline.parse.office.numerals import count_on, format_number, tick
from pipeline.parse.office.package import Package
from pipeline.parse.office.word.looks import (
    OFF,
    PLAIN,
    RunProperties,
    W,
    child,
    fill_of,
    over,
    points,
    read_look,
    value,
    word_theme,
)
from pipeline.parse.sight.colours import Colour

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)  # built-in styles have this name in every language
_BY_ID = re.compile(r"(?:heading|überschrift|berschrift|titre|ttulo|título|kop|rubrik|titolo)([1-9])", re.IGNORECASE)
_LEVELS = 9
_HAS_SIGNS = re.compile(rb"""charset\s[^>]*val\s*=\s*["']0?2["']""")
_OF_SIGNS = 2  # the character set of symbol fonts
BODY = 9  # the outline level of text that is no heading


class Style(NamedTuple):
    """A style joined with those that it is based on; `outline` is a level from 0, BODY for none.

    `line` is the height in points to which a line is cut, infinite where it is not. `left`, `right` and `first` (of the
    first line, beside the left one) are indents in points.
    """

    number: str | None = None
    level: str | None = None
    outline: int | None = None
    look: RunProperties = RunProperties()
    behind: Colour | None = None  # the fill behind a whole paragraph
    line: float | None = None
    left: float | None = None
    right: float | None = None
    first: float | None = None
    frame: etree._Element | None = None
    doubt: str | None = None


_NOTHING = Style()


class WordStyles:
    """The styles of a document by their id, each resolved once."""

    def __init__(self, package: Package) -> None:
        self._elements: dict[str, etree._Element] = {}
        self._resolved: dict[str, Style] = {}
        self._default = ""
        self.theme = word_theme(package)
        self.defaults = PLAIN
        self._paragraphs = _NOTHING  # what holds for all of them
        self.fonts_of_signs = {
            font.get(W + "name", "")
            for part in package.related(package.main, "fontTable")
            if _HAS_SIGNS.search(package.bytes(part))
            for font in package.xml(part).iter(W + "font")
            if whole_number(value(font, "charset"), 0) == _OF_SIGNS
        }
        for part in package.related(package.main, "styles"):
            root = package.xml(part)
            look = read_look(child(root, "docDefaults", "rPrDefault", "rPr"), self.theme)
            self.defaults = over(look, self.defaults)
            usual = child(root, "docDefaults", "pPrDefault", "pPr")
            self._paragraphs = _merged(_own(usual, self.theme), self._paragraphs)
            for style in root.iter(W + "style"):
                self._elements[style.get(W + "styleId", "")] = style
                if style.get(W + "type") == "paragraph" and style.get(W + "default", "0") not in OFF:
                    self._default = style.get(W + "styleId", "")

    def paragraph(self, properties: etree._Element | None) -> Style:
        """The style that holds for a paragraph with these properties (w:pPr): theirs, then the one that they name."""
        name = value(properties, "pStyle") or self._default
        return _merged(_own(properties, self.theme), _merged(self.style(name), self._paragraphs))

    def style(self, name: str | None) -> Style:
        """The style of an id; for an id that is no style, a heading by its name or nothing."""
        pending: dict[str, etree._Element] = {}
        while name and name in self._elements and name not in self._resolved and name not in pending:
            pending[name] = self._elements[name]
            name = value(pending[name], "basedOn")
        heading = _BY_ID.fullmatch(name) if name and name not in self._elements else None
        style = self._resolved.get(name or "") or (Style(outline=int(heading[1]) - 1) if heading else _NOTHING)
        for one, element in reversed(pending.items()):
            own, title = _own(element.find(W + "pPr"), self.theme), (value(element, "name") or "").strip()
            if own.outline is None and (built_in := _HEADING.fullmatch(title)):
                own = own._replace(outline=int(built_in[1]) - 1)
            elif own.outline is None and title.lower() == "title":
                own = own._replace(outline=0)
            own = own._replace(look=read_look(element.find(W + "rPr"), self.theme))
            style = self._resolved[one] = _merged(own, style)
        return style

    def chain(self, name: str | None) -> list[etree._Element]:
        """The elements of a style and of those that it is based on, its own first."""
        found: dict[str, etree._Element] = {}
        while name and name in self._elements and name not in found:
            found[name] = self._elements[name]
            name = value(found[name], "basedOn")
        return list(found.values())


def _own(properties: etree._Element | None, theme: Theme) -> Style:
    """The style that a paragraph's properties make."""
    found = {} if properties is None else {one.tag: one for one in properties}
    if not found:
        return _NOTHING
    numbers, outline, shading, spacing, indents, frame = (found.get(tag) for tag in _SAYING)
    left, right, first, hanging = (
        None if indents is None
        else next((one for name in names if (one := points(indents, name)) is not None), None)
        for names in (("left", "start"), ("right", "end"), ("firstLine",), ("hanging",))
    )  # fmt: skip
    line = None
    if spacing is not None and spacing.get(W + "line") is not None:
        height = points(spacing, "line")
        line = height if spacing.get(W + "lineRule") == "exact" and height is not None else math.inf
    return Style(
        number=value(numbers, "numId"),
        level=value(numbers, "ilvl"),
        outline=None if outline is None else min(whole_number(outline.get(W + "val"), BODY), BODY),
        behind=None if shading is None else fill_of(shading, theme),
        line=line,
        left=left,
        right=right,
        first=first if hanging is None else -hanging,
        frame=frame,
        doubt=next((name for tag in found if (name := local_name(str(tag))) not in _HARMLESS), None),
    )


_SAYING = tuple(W + name for name in ("numPr", "outlineLvl", "shd", "spacing", "ind", "framePr"))
_NAMES = (
    "pStyle keepNext keepLines pageBreakBefore framePr widowControl numPr suppressLineNumbers pBdr shd tabs kinsoku "
    "suppressAutoHyphens wordWrap overflowPunct topLinePunct autoSpaceDE autoSpaceDN bidi adjustRightInd snapToGrid "
    "spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection textAlignment textboxTightWrap "
    "outlineLvl divId cnfStyle rPr sectPr pPrChange"
)
_HARMLESS = frozenset(_NAMES.split())
"""Paragraph properties whose effect is computed, or that keep nobody from seeing a text."""


def _merged(own: Style, inherited: Style) -> Style:
    if own == _NOTHING:
        return inherited
    merged = Style._make(other if said is None else said for said, other in zip(own, inherited, strict=True))
    return merged._replace(look=over(own.look, inherited.look))


class Numbering:
    """The lists of a document and how far each has counted."""

    def __init__(self, package: Package, styles: WordStyles) -> None:
        self._levels: dict[str, dict[int, etree._Element]] = {}  # numId -> level -> w:lvl
        self._list: dict[str, str] = {}  # numId -> the abstract list, which counts for all its instances
        self._counts: dict[str, list[int | None]] = {}
        for root in map(package.xml, package.related(package.main, "numbering")):
            abstract = {element.get(W + "abstractNumId", ""): element for element in root.iter(W + "abstractNum")}
            instances = {one: one.get(W + "numId", "") for one in root.iterchildren(W + "num")}
            names = {number: value(one, "abstractNumId") or "" for one, number in instances.items()}
            for instance, number in instances.items():
                name = names[number]
                if linked := value(abstract.get(name), "numStyleLink"):  # a list style, which names the list proper
                    name = names.get(styles.style(linked).number or "", name)
                levels = _by_level(abstract[name]) if name in abstract else {}
                overrides = list(instance.iterchildren(W + "lvlOverride"))
                for override in overrides:
                    levels |= _by_level(override)
                self._levels[number] = levels
                self._list[number] = number if overrides else name  # an override begins to count anew

    def label(self, style: Style) -> str:
        """Count a paragraph of a style, and return its label with a space after it; "" where it is not numbered."""
        number, level = style.number or "", whole_number(style.level, 0)
        levels = self._levels.get(number, {})
        if level not in levels:
            return ""
        counts = self._counts.setdefault(self._list[number], [None] * _LEVELS)
        count_on(counts, level, _start(levels[level]))
        pattern, form = value(levels[level], "lvlText") or "", value(levels[level], "numFmt")
        if form == "bullet":
            fonts = child(levels[level], "rPr", "rFonts")
            font = "" if fonts is None else fonts.get(W + "hAnsi") or fonts.get(W + "ascii") or ""
            return (tick(pattern, font) or "- ") if pattern.strip() else ""
        if form == "none":
            return ""
        for place in range(level + 1):
            if place in levels:
                count = counts[place]
                shown = _start(levels[place]) if count is None else count
                pattern = pattern.replace(f"%{place + 1}", format_number(shown, value(levels[place], "numFmt")))
        return pattern.strip() + " " if pattern.strip() else ""

    def level(self, style: Style) -> etree._Element | None:
        """The level (w:lvl) of a list that says how the number of such a paragraph looks."""
        return self._levels.get(style.number or "", {}).get(whole_number(style.level, 0))


def _by_level(element: etree._Element) -> dict[int, etree._Element]:
    levels = {level.get(W + "ilvl", ""): level for level in element.iterchildren(W + "lvl")}
    numbered = {whole_number(place, _LEVELS): level for place, level in levels.items()}
    return {place: level for place, level in numbered.items() if place < _LEVELS}


def _start(level: etree._Element) -> int:
    return whole_number(value(level, "start"), 1)
