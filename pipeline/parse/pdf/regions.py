"""Where the pictures of a page lie, which of them its text layer explains, and where between its lines they belong.

Pictures that touch are one region: scans come in strips and tiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawing import HUGE, Drawing
from pipeline.parse.pdf.geometry import Rectangle, common, transformed
from pipeline.parse.pdf.page import Page
from pipeline.parse.pdf.picture import Look, view_of
from pipeline.parse.pdf.scenery import Scenery

_SIDE = 64  # cells of a scenery along each side
_LEFT = sum(1 << (_SIDE * row) for row in range(_SIDE))
_INNER = ((1 << (_SIDE * _SIDE)) - 1) & ~_LEFT  # all cells but those at the left edge
_LOWEST, _NARROWEST = 7.0, 20.0  # points of a picture on which a word may stand
_PART = 0.01  # of a page from which on a picture is worth recognising
_PIXELS = 1_000  # that it has at least then; a word of small letters has more
_LAYER = 0.25  # of a region that the lines of a text layer fill where it is a page of text
_CELL = 8.0  # points; where a region shows something is looked up cell by cell
_NOT_LIGHT, _NOT_DARK = bytes(range(176)), bytes(range(128, 256))
_PAPER, _INK = 0.6, 0.003  # of a picture that is light and dark where something is written
_EXPLAINED = 0.6  # of the cells that show something in which the layer has text


@dataclass(frozen=True)
class Region:
    """A part of a page that pictures fill; `box` in points, `part` of the page from 0 to 1."""

    box: Rectangle
    part: float
    is_worth: bool


def regions_of(scenery: Scenery, page: Rectangle) -> list[Region]:
    """The regions of a page whose visible part is `page`, from its top; those without room for a word are left out."""
    seen = [(item, visible) for item, box in scenery.images if (visible := _visible(box, page))]
    cells = [scenery.cells(box) for _, box in seen]
    regions = [
        _region([one for one, of_one in zip(seen, cells, strict=True) if of_one & group], page)
        for group in _connected(cells)
    ]
    return sorted((one for one in regions if one), key=lambda one: (-one.box[3], one.box[0]))


def _visible(box: Rectangle, page: Rectangle) -> Rectangle | None:
    left, bottom, right, top = (
        max(box[0], page[0]), max(box[1], page[1]), min(box[2], page[2]), min(box[3], page[3])
    )  # fmt: skip
    return (left, bottom, right, top) if left < right and bottom < top else None


def _connected(masks: Sequence[int]) -> list[int]:
    """The cells of all masks, in groups of neighbours."""
    left, groups = 0, []
    for mask in masks:
        left |= mask
    while left:
        grown, group = left & -left, 0
        while grown != group:
            group = grown
            grown |= ((group << 1) & _INNER) | ((group & _INNER) >> 1) | (group << _SIDE) | (group >> _SIDE)
            grown &= left
        groups.append(group)
        left &= ~group
    return groups


def _region(images: list[tuple[int, Rectangle]], page: Rectangle) -> Region | None:
    lefts, bottoms, rights, tops = zip(*(box for _, box in images), strict=True)
    box = min(lefts), min(bottoms), max(rights), max(tops)
    width, height = box[2] - box[0], box[3] - box[1]
    if height < _LOWEST or width < _LOWEST or max(width, height) < _NARROWEST:
        return None
    part = width * height / ((page[2] - page[0]) * (page[3] - page[1]))
    pixels = [pdf.pixels_of(item) for item, _ in images]
    return Region(box, part, part >= _PART and sum(pixels) >= _PIXELS and max(pixels) <= HUGE)


def is_explained(drawing: Drawing, region: Region, layer: Sequence[Rectangle]) -> bool:
    """Whether the areas of a text layer stand wherever a region shows something; text is not drawn by now.

    So it is where more would have to be drawn than is allowed.
    """
    on_it = [area for area in layer if common(area, region.box) >= 1 / 2]
    if sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in on_it) >= _LAYER * _size(region.box):
        return True
    if not on_it:
        return False
    with drawing.of([region.box], 1) as picture:
        cells = _cells_with_ink(picture, region.box) if picture else []
    explained = sum(any(_touch(cell, area) for area in on_it) for cell in cells)
    return explained >= _EXPLAINED * len(cells)


def shows_writing(drawing: Drawing, region: Region) -> bool:
    """Whether a region is mostly light with something dark on it, as paper is and a photograph is not."""
    with drawing.of([region.box], 1) as picture:
        green = picture.pixels[1::4] if picture else b""
    if not green:
        return False
    light, dark = (len(green.translate(None, not_these)) / len(green) for not_these in (_NOT_LIGHT, _NOT_DARK))
    return light >= _PAPER and dark >= _INK


def _cells_with_ink(picture: Look, box: Rectangle) -> list[Rectangle]:
    across, upwards = int((box[2] - box[0]) / _CELL), int((box[3] - box[1]) / _CELL)
    cells = [
        (box[0] + column * _CELL, box[1] + row * _CELL, box[0] + (column + 1) * _CELL, box[1] + (row + 1) * _CELL)
        for row in range(upwards)
        for column in range(across)
    ]
    return [cell for cell in cells if picture.has_ink(cell)]


def _touch(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _size(box: Rectangle) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def line_before(page: Page, region: Region, lines: Sequence[Rectangle]) -> int:
    """The number of lines that come before a region, as a page is read: from above, then from the left.

    A line comes before it when it stands to the left of it, or above its middle and not to the right of it; so does
    each line before that one.
    """
    matrix = view_of(page, [region.box], annotations=False).matrix
    left, top, right, bottom = transformed(region.box, matrix)
    last = 0
    for number, line in enumerate(lines, start=1):
        x0, y0, x1, y1 = transformed(line, matrix)
        if x1 <= left or (x0 < right and (y0 + y1) < (top + bottom)):
            last = number
    return last
