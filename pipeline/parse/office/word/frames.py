"""Where frames and paragraphs of a Word document lie, as far as that shows whether they are on the page at all.

What a place is counted from is known for the page alone; a margin, a column or a line of text may lie anywhere on it.
A place hides something only if it does so wherever on the page it is counted from.
"""

import math
from typing import NamedTuple

from lxml import etree

from pipeline.parse.look.appearance import Appearance, Box
from pipeline.parse.office.word.looks import W, points

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
