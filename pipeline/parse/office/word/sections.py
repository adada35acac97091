"""The pages of a Word document: its sections (ISO/IEC 29500-1, 17.6), and whether places surely lie on a page.

What a place is counted from is known for the page alone; a margin, a column or a line of text may lie anywhere on it.
Sections stand at the end of what they hold, so they are read in a pass of their own, before the text.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import local_name, stream, whole_number
from pipeline.parse.office.drawing.shapes import GRAPHICS, A
from pipeline.parse.office.drawing.theme import UNKNOWN, rgb
from pipeline.parse.office.package import Package
from pipeline.parse.office.word.looks import W, child, points
from pipeline.parse.sight.colours import WHITE, Colour

_ROOM = 8.0
"""Points: what is lower or narrower has no room for a line."""
_FRAME = (("x", "xAlign", "hAnchor", "w"), ("y", "yAlign", "vAnchor", "h"))
_FLOATING = (("tblpX", "tblpXSpec", "horzAnchor", ""), ("tblpY", "tblpYSpec", "vertAnchor", ""))


class Page(NamedTuple):
    """The width and height of the largest page of a document in points, and the farthest that a column begins."""

    width: float = 612.0
    height: float = 792.0
    origin: float = 612.0

    def shows(self, way: int, place: float | None, size: float | None, from_page: bool) -> bool:
        """Whether half of something surely lies on the page, to the right (0) or down (1) from a place and of a size.

        A place is counted from the page, or from text that may stand anywhere in its upper half. Where no place is
        said, or no size, programs choose one that is seen.
        """
        if size is not None and size < _ROOM:
            return False
        if place is None:
            return True
        least = 0.0 if from_page else (min(self.origin, self.width / 4), self.height / 4)[way]
        most = 0.0 if from_page else (min(self.origin, self.width / 2), self.height / 2)[way]
        middle = place + (2 * _ROOM if size is None else size / 2)
        return -least < middle < (self.width, self.height)[way] - most


def shows_frame(properties: etree._Element, page: Page) -> bool:
    """Whether a frame (w:framePr, 17.3.1.11) or a floating table (w:tblpPr, 17.4.57) surely lies on a page."""
    sides = _FRAME if properties.tag == W + "framePr" else _FLOATING
    exact = properties.get(W + "hRule") == "exact"
    for way, (name, aligned, origin, size) in enumerate(sides):
        place = None if properties.get(W + aligned) else points(properties, name)
        known = points(properties, size) if size == "w" or (size and exact) else None
        if not page.shows(way, place, known, properties.get(W + origin) == "page"):
            return False
    return True


_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_V = "{urn:schemas-microsoft-com:vml}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BESIDE = {"wrapSquare", "wrapTight", "wrapThrough", "wrapTopAndBottom", "wrap"}
_FILLS = {A + name for name in ("solidFill", "gradFill", "pattFill", "blipFill")}
_ON = {None, "1", "true", "on"}
_TWIPS = 20.0  # in a point
_LINE = 10 * 12_700  # English Metric Units: what is smaller than a line of text is behind none
_DRAWN = (_WP + "anchor", *(_V + name for name in ("shape", "rect", "roundrect", "oval")))
_PLACED = re.compile(r"z-index:\s*-|position:\s*absolute")


@dataclass
class Sections:
    """The sections of a document. `headers` and `footers`: parts of the package, and whether any section shows them.

    `behind`: the colour of the pages, UNKNOWN where something may lie behind their text. `floats`: how many drawings
    lie anywhere but in a line of the text. `covers`: one of them may lie over text.
    """

    headers: dict[str, bool] = field(default_factory=dict)
    footers: dict[str, bool] = field(default_factory=dict)
    behind: Colour = WHITE
    floats: int = 0
    covers: bool = False
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
        elif element.tag == W + "background":  # shown where the settings say so
            plain = len(element) == 0 and element.get(W + "themeColor") is None
            shown = plain and _is_on(settings, "displayBackgroundShape")
            sections.behind = (rgb(element.get(W + "color")) if shown else None) or UNKNOWN
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
    size, margins, columns = (child(section, name) for name in ("pgSz", "pgMar", "cols"))
    width, height, _ = Page()
    if size is not None:
        width = whole_number(size.get(W + "w"), 12_240) / _TWIPS
        height = whole_number(size.get(W + "h"), 15_840) / _TWIPS
    many = columns is not None and columns.get(W + "num", "1") != "1"
    left = -1 if margins is None else whole_number(margins.get(W + "left", margins.get(W + "start")), -1)
    if margins is None or left < 0 or many:
        return Page(width, height, width)
    return Page(width, height, (left + whole_number(margins.get(W + "gutter"), 0)) / _TWIPS)


def _add_drawing(sections: Sections, drawing: etree._Element) -> None:
    """Count a drawing that does not stand in a line, and see what it may lie over or behind."""
    is_new, style = drawing.tag == _WP + "anchor", drawing.get("style", "")
    if any(local_name(one.tag) == "Fallback" for one in drawing.iterancestors()):
        return
    if not is_new and not _PLACED.search(style):
        return
    sections.floats += 1
    # A line of text could stand before it; letters drawn as a watermark are nothing to stand before.
    extents = drawing.iterchildren(_WP + "extent")
    sides = [whole_number(one.get(side), _LINE) for one in extents for side in ("cx", "cy")]
    is_large = drawing.find(_V + "textpath") is None and all(side >= _LINE for side in sides)
    if drawing.get("behindDoc") in {"1", "true"} or (not is_new and "z-index:-" in style.replace(" ", "")):
        sections.behind = UNKNOWN if is_large else sections.behind
        return
    if is_new:  # with a picture, a chart or a filled shape, text under it may not be seen
        fills = {str(one.tag) for one in drawing.iter(A + "noFill", *_FILLS)
                 if local_name(one.getparent().tag) == "spPr"}  # fmt: skip
        styled = any(one.get("idx", "0") != "0" for one in drawing.iter(A + "fillRef")) and A + "noFill" not in fills
        pictures = next(drawing.iter(A + "blip", *GRAPHICS), None) is not None
        painted = styled or pictures or not _FILLS.isdisjoint(fills)
    else:
        painted = drawing.get("filled", "t") not in {"f", "false"} and is_large
    if painted and not any(local_name(one.tag) in _BESIDE for one in drawing):
        sections.covers = True


def _is_on(holders: list[etree._Element], name: str) -> bool:
    """Whether a switch of this name in one of the elements is on."""
    return any(one.get(W + "val") in _ON for holder in holders for one in holder.iterchildren(W + name))
