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

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.drawing.theme import Theme
from pipeline.parse.office.numerals import count_on, format_number, tick
from pipeline.parse.office.package import Package
from pipeline.parse.office.word.looks import OFF, PLAIN, Look, W, fill_of, over, points, read_look, word_theme
from pipeline.parse.office.word.sections import Frame, read_frame
from pipeline.parse.sight.colours import Colour

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)  # built-in styles have this name in every language
_BY_ID = re.compile(r"(?:heading|überschrift|berschrift|titre|ttulo|título|kop|rubrik|titolo)([1-9])", re.IGNORECASE)
_TWIP = 0.05  # points
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
    look: Look = Look()
    behind: Colour | None = None  # the fill behind a whole paragraph
    line: float | None = None
    left: float | None = None
    right: float | None = None
    first: float | None = None
    aligned: str | None = None
    frame: Frame | None = None


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
            self.defaults = over(
                read_look(root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr"), self.theme), self.defaults
            )
            usual = root.find(f"{W}docDefaults/{W}pPrDefault/{W}pPr")
            self._paragraphs = _merged(_own(usual, None, self.theme), self._paragraphs)
            for style in root.iter(W + "style"):
                self._elements[style.get(W + "styleId", "")] = style
                if style.get(W + "type") == "paragraph" and style.get(W + "default", "0") not in OFF:
                    self._default = style.get(W + "styleId", "")

    def paragraph(self, properties: etree._Element | None) -> Style:
        """The style that holds for a paragraph with these properties (w:pPr): theirs, then the one that they name."""
        name = value(properties, "pStyle") or self._default
        return _merged(_own(properties, None, self.theme), _merged(self.style(name), self._paragraphs))

    def style(self, name: str | None) -> Style:
        """The style of an id; for an id that is no style, a heading by its name or nothing."""
        pending: dict[str, etree._Element] = {}
        while name and name in self._elements and name not in self._resolved and name not in pending:
            pending[name] = self._elements[name]
            name = value(pending[name], "basedOn")
        style = self._resolved.get(name or "") or _unknown(name or "", self._elements)
        for one, element in reversed(pending.items()):
            own = _own(element.find(W + "pPr"), element, self.theme)
            style = self._resolved[one] = _merged(own, style)
        return style

    def chain(self, name: str | None) -> list[etree._Element]:
        """The elements of a style and of those that it is based on, its own first."""
        found: dict[str, etree._Element] = {}
        while name and name in self._elements and name not in found:
            found[name] = self._elements[name]
            name = value(found[name], "basedOn")
        return list(found.values())


def value(element: etree._Element | None, name: str) -> str | None:
    """The value (w:val) of a child of this name."""
    found = None if element is None else element.find(W + name)
    return None if found is None else found.get(W + "val")


def _own(properties: etree._Element | None, style: etree._Element | None, theme: Theme) -> Style:
    """The style that a paragraph's properties make, with the outline and look of the style that holds them."""
    found = {} if properties is None else {child.tag: child for child in properties}
    own = _NOTHING if found.keys().isdisjoint(_SAYING) else _said(found, theme)
    if style is None:
        return own
    return own._replace(
        outline=_outline_of(value(style, "name") or "") if own.outline is None else own.outline,
        look=read_look(style.find(W + "rPr"), theme),
    )


def _said(found: dict[str, etree._Element], theme: Theme) -> Style:
    numbers, outline, shading, spacing, indents, aligned, frame = (found.get(tag) for tag in _SAYING)
    left, right, first = (None, None, None) if indents is None else _indents(indents)
    return Style(
        number=value(numbers, "numId"),
        level=value(numbers, "ilvl"),
        outline=None if outline is None else min(whole_number(outline.get(W + "val"), BODY), BODY),
        behind=None if shading is None else fill_of(shading, theme),
        line=None if spacing is None else _line(spacing),
        left=left,
        right=right,
        first=first,
        aligned=None if aligned is None else aligned.get(W + "val"),
        frame=None if frame is None else read_frame(frame),
    )


_SAYING = tuple(W + name for name in ("numPr", "outlineLvl", "shd", "spacing", "ind", "jc", "framePr"))


def _line(spacing: etree._Element) -> float | None:
    if spacing.get(W + "line") is None:
        return None
    height = points(spacing, "line", _TWIP)
    return height if spacing.get(W + "lineRule") == "exact" and height is not None else math.inf


def _indents(indents: etree._Element) -> tuple[float | None, float | None, float | None]:
    left, right, first, hanging = (
        next((one for name in names if (one := points(indents, name, _TWIP)) is not None), None)
        for names in (("left", "start"), ("right", "end"), ("firstLine",), ("hanging",))
    )
    return left, right, first if hanging is None else -hanging


def _merged(own: Style, inherited: Style) -> Style:
    if own == _NOTHING:
        return inherited
    merged = Style._make(other if said is None else said for said, other in zip(own, inherited, strict=True))
    return merged._replace(look=over(own.look, inherited.look))


def _unknown(name: str, known: dict[str, etree._Element]) -> Style:
    heading = None if name in known else _BY_ID.fullmatch(name)
    return Style(outline=int(heading[1]) - 1) if heading else Style()


def _outline_of(name: str) -> int | None:
    heading = _HEADING.fullmatch(name.strip())
    return int(heading[1]) - 1 if heading else 0 if name.strip().lower() == "title" else None


W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LEVELS = 9


class Numbering:
    """The lists of a document and how far each has counted."""

    def __init__(self, package: Package, styles: WordStyles) -> None:
        self._levels: dict[str, dict[int, etree._Element]] = {}  # numId -> level -> w:lvl
        self._list: dict[str, str] = {}  # numId -> the abstract list, which counts for all its instances
        self._counts: dict[str, list[int | None]] = {}
        for part in package.related(package.main, "numbering"):
            self._read_lists(package.xml(part), styles)

    def label(self, style: Style) -> str:
        """Count a paragraph of a style, and return its label with a space after it; "" where it is not numbered."""
        number, level = style.number or "", whole_number(style.level, 0)
        levels = self._levels.get(number, {})
        if level not in levels:
            return ""
        counts = self._counts.setdefault(self._list[number], [None] * _LEVELS)
        count_on(counts, level, _start(levels[level]))
        return _label(levels, level, counts)

    def level(self, style: Style) -> etree._Element | None:
        """The level (w:lvl) of a list that says how the number of such a paragraph looks."""
        return self._levels.get(style.number or "", {}).get(whole_number(style.level, 0))

    def _read_lists(self, root: etree._Element, styles: WordStyles) -> None:
        abstract = {element.get(W + "abstractNumId", ""): element for element in root.iter(W + "abstractNum")}
        names = {num.get(W + "numId", ""): value(num, "abstractNumId") or "" for num in root.iterchildren(W + "num")}
        for instance in root.iterchildren(W + "num"):
            number = instance.get(W + "numId", "")
            name = names[number]
            if linked := value(abstract.get(name), "numStyleLink"):  # a list style, which names the list proper
                name = names.get(styles.style(linked).number or "", name)
            levels = _by_level(abstract[name]) if name in abstract else {}
            overrides = list(instance.iterchildren(W + "lvlOverride"))
            for override in overrides:
                levels |= _by_level(override)
            self._levels[number] = levels
            self._list[number] = number if overrides else name  # an override begins to count anew


def _label(levels: dict[int, etree._Element], level: int, counts: list[int | None]) -> str:
    pattern, form = value(levels[level], "lvlText") or "", value(levels[level], "numFmt")
    if form == "bullet":
        fonts = levels[level].find(f"{W}rPr/{W}rFonts")
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


def _by_level(element: etree._Element) -> dict[int, etree._Element]:
    levels = {level.get(W + "ilvl", ""): level for level in element.iterchildren(W + "lvl")}
    numbered = {whole_number(place, _LEVELS): level for place, level in levels.items()}
    return {place: level for place, level in numbered.items() if place < _LEVELS}


def _start(level: etree._Element) -> int:
    return whole_number(value(level, "start"), 1)
