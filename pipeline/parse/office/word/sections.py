"""The pages of a Word document: its sections (ISO/IEC 29500-1, 17.6), and whether frames and paragraphs lie on a page.

What a place is counted from is known for the page alone; a margin, a column or a line of text may lie anywhere on it.
A place hides something only if it does so wherever on the page it is counted from. Sections stand at the end of what
they hold, so they are read in a pass of their own, before the text.
"""

import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import local_name, stream, whole_number
from pipeline.parse.office.drawing.theme import UNKNOWN, rgb
from pipeline.parse.office.package import Package
from pipeline.parse.office.word.looks import W, points
from pipeline.parse.sight.colours import WHITE, Colour
from pipeline.parse.sight.look import Appearance, Box

_TWIP = 0.05  # points
_LETTER = 1.2
"""The widest that a letter is on average, in heights of its font: capitals of a wide font, letters of Chinese."""


class Page(NamedTuple):
    """The width and height of the largest page of a document, in points.

    `origin`: the farthest from the left edge that a column of text outside of tables and boxes begins.
    """

    width: float = 612.0
    height: float = 792.0
    origin: float = 612.0

    def clip(self, right: float, down: float) -> Box:
        """The seen box of a page in points, from a place at most so far right of its corner and down from it."""
        right, down = min(right, self.width), min(down, self.height)
        return -right, -down, self.width + right, self.height + down


class Frame(NamedTuple):
    """The place of a frame (w:framePr, 17.3.1.11) or of a table, in points; None where it is not said or aligned."""

    x: float | None
    y: float | None
    width: float | None
    height: float | None
    x_from_page: bool
    y_from_page: bool

    def appearance(self, page: Page, origin: float) -> Appearance:
        """How the frame lies on a page; one that says no width may be as wide as that.

        The column in which it stands begins at most `origin` points from the left edge.
        """
        width = page.width if self.width is None else max(self.width, 1.0)
        height = page.height if self.height is None else max(self.height, 1.0)
        box = (self.x or 0.0, self.y or 0.0, width, height)
        clip = page.clip(0.0 if self.x_from_page else origin, 0.0 if self.y_from_page else page.height)
        return Appearance(box=box, clip=clip, line=self.height)


def read_frame(properties: etree._Element) -> Frame:
    """The frame that a w:framePr describes."""
    x, y, width, height = (points(properties, name, _TWIP) for name in ("x", "y", "w", "h"))
    return Frame(
        None if properties.get(W + "xAlign") else x,
        None if properties.get(W + "yAlign") else y,
        width,
        height if properties.get(W + "hRule") == "exact" else None,
        properties.get(W + "hAnchor") == "page" and x is not None,
        properties.get(W + "vAnchor") == "page" and y is not None,
    )


def read_floating(properties: etree._Element, width: float | None) -> Frame:
    """The frame of a table of a width in points whose place a w:tblpPr (17.4.57) describes."""
    x, y = points(properties, "tblpX", _TWIP), points(properties, "tblpY", _TWIP)
    return Frame(
        None if properties.get(W + "tblpXSpec") else x,
        None if properties.get(W + "tblpYSpec") else y,
        width,
        None,
        properties.get(W + "horzAnchor") == "page" and x is not None,
        properties.get(W + "vertAnchor") == "page" and y is not None,
    )


def indented(page: Page, origin: float, start: float, end: float, width: float) -> Appearance:
    """How lines lie on a page that begin `start` points beside a margin and may reach up to `end` before the other one.

    The margin lies at most `origin` points from the left edge of the page. The text is at most `width` points wide.
    """
    width = min(width, page.width - start - end)
    return Appearance(box=(start, 0.0, max(width, 1.0), 1.0), clip=(-origin, 0.0, page.width + origin, page.height))


def widest(letters: int, size: float) -> float:
    """The most points that so many letters may take of a line."""
    return letters * size * _LETTER


def moved(page: Page, raised: float, size: float, line: float) -> Appearance:
    """How letters lie that are raised or lowered by so many points in lines that are cut to a height."""
    room = page.height if math.isinf(line) else min(line, page.height)
    return Appearance(box=(0.0, -raised, 1.0, size), clip=(0.0, -room, 1.0, 2 * room + size))


_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_V = "{urn:schemas-microsoft-com:vml}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_ON = {None, "1", "true", "on"}
_TWIPS = 20.0  # in a point
_LINE = 10 * 12_700  # English Metric Units: what is smaller than a line of text is behind none
_DRAWN = (_WP + "anchor", *(_V + name for name in ("shape", "rect", "roundrect", "oval")))
_PLACED = re.compile(r"z-index:\s*-|position:\s*absolute")


@dataclass
class Sections:
    """The sections of a document. `headers` and `footers`: parts of the package, and whether any section shows them.

    `behind`: the colour of the pages, UNKNOWN where something may lie behind their text. `floats`: how many drawings
    lie anywhere but in a line of the text.
    """

    headers: dict[str, bool] = field(default_factory=dict)
    footers: dict[str, bool] = field(default_factory=dict)
    behind: Colour = WHITE
    floats: int = 0
    page: Page = field(default_factory=Page)


def read_sections(package: Package, data: bytes) -> Sections:
    """The sections that the main part, given as its bytes, describes. Raises DocumentError(CORRUPT).

    Headers for first or even pages are shown where the document has such pages; a section takes from the one before
    what it does not say, so that one section decides for all.
    """
    sections, settings = Sections(), [package.xml(part) for part in package.related(package.main, "settings")]
    used = {"default"} | ({"even"} if _is_on(settings, "evenAndOddHeaders") else set())
    references: list[tuple[str, str, str]] = []
    pages: list[Page] = []
    for element in stream(data, package.main, W + "p", W + "tr", W + "sectPr", W + "background", *_DRAWN):
        if element.tag == W + "sectPr":
            references += [(one.tag, one.get(_R_ID, ""), one.get(W + "type", "default")) for one in element]
            used |= {"first"} if _is_on([element], "titlePg") else set()
            pages.append(_page(element))
        elif element.tag == W + "background":
            sections.behind = _background(element, settings)
        elif element.tag in _DRAWN:
            _add_drawing(sections, element)
    relations = package.relations(package.main)
    for tag, name, kind in references:
        parts = {W + "headerReference": sections.headers, W + "footerReference": sections.footers}.get(tag)
        relation = relations.get(name)
        if parts is not None and relation is not None and package.has(relation.target):
            parts[relation.target] = parts.get(relation.target, False) or kind in used
    for part in (*sections.headers, *sections.footers):
        for element in package.elements(part, *_DRAWN):
            _add_drawing(sections, element)
    if pages:
        sections.page = Page(*(max(side) for side in zip(*pages, strict=True)))
    return sections


def _page(section: etree._Element) -> Page:
    """The page of a section; one with columns may have text begin anywhere on it."""
    found = {local_name(one.tag): one for one in section}
    size, margins, columns = found.get("pgSz"), found.get("pgMar"), found.get("cols")
    usual = Page()
    width, height = (usual.width, usual.height) if size is None else (
        whole_number(size.get(W + "w"), 12_240) / _TWIPS, whole_number(size.get(W + "h"), 15_840) / _TWIPS
    )  # fmt: skip
    left = None if margins is None else whole_number(margins.get(W + "left", margins.get(W + "start")), -1)
    many = columns is not None and columns.get(W + "num", "1") != "1"
    gutter = 0 if margins is None else whole_number(margins.get(W + "gutter"), 0)
    return Page(width, height, width if left is None or left < 0 or many else (left + gutter) / _TWIPS)


def _background(element: etree._Element, settings: list[etree._Element]) -> Colour:
    """The colour of the pages, where the settings have it shown."""
    shown = _is_on(settings, "displayBackgroundShape")
    plain = len(element) == 0 and element.get(W + "themeColor") is None
    return (rgb(element.get(W + "color")) if shown and plain else None) or UNKNOWN


def _add_drawing(sections: Sections, element: etree._Element) -> None:
    if any(local_name(one.tag) == "Fallback" for one in element.iterancestors()):
        return
    style = "" if element.tag == _WP + "anchor" else element.get("style", "")
    if element.tag != _WP + "anchor" and not _PLACED.search(style):
        return
    sections.floats += 1
    if element.get("behindDoc") in {"1", "true"} or "z-index:-" in style.replace(" ", ""):
        sections.behind = UNKNOWN if _is_large(element) else sections.behind


def _is_large(drawing: etree._Element) -> bool:
    """Whether a line of text could stand before a drawing; letters drawn as a watermark are nothing to stand before."""
    if drawing.find(_V + "textpath") is not None:
        return False
    extents = drawing.iterchildren(_WP + "extent")
    return all(whole_number(one.get(side), _LINE) >= _LINE for one in extents for side in ("cx", "cy"))


def _is_on(holders: list[etree._Element], name: str) -> bool:
    """Whether a switch of this name in one of the elements is on."""
    return any(one.get(W + "val") in _ON for holder in holders for one in holder.iterchildren(W + name))
