"""Find where the pictures of a page lie, which of them its text layer explains, and between which lines they belong.

Pictures that touch are one region: scans come in strips and tiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import or_

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.drawn.drawing import HUGE, Drawing, Picture, view_of
from pipeline.parse.pdf.drawn.scenery import Scenery
from pipeline.parse.pdf.geometry import Rectangle, around, common, transformed
from pipeline.parse.pdf.text.page import Page

_SIDE = 64  # cells of a scenery along each side
_LEFT = sum(1 << (_SIDE * row) for row in range(_SIDE))
_INNER = ((1 << (_SIDE * _SIDE)) - 1) & ~_LEFT  # all cells but those at the left edge
_LOWEST, _NARROWEST = 7.0, 20.0  # points of a picture on which a word may stand
_PART = 0.01  # of a page from which on a picture is worth recognising
_PIXELS = 1_000  # that it has at least then; a word of small letters has more
_LAYER = 0.25  # of a region that the lines of a text layer fill where it is a page of text
_CELL = 8  # pixels; where a region shows something is looked up cell by cell
_LEVELS = bytes(1 << grey // 43 for grey in range(256))  # a bit for each of six levels of grey
_APART = 2  # levels between dark and light where something is written
_NOT_LIGHT, _NOT_DARK = bytes(range(176)), bytes(range(128, 256))
_PAPER, _DRAWN = 0.6, 0.003  # of a picture that is light and dark where something is written
_EXPLAINED = 0.6  # of the cells that show something in which the layer has text


@dataclass(frozen=True)
class Region:
    """A part of a page that pictures fill; `box` in points, `part` of the page from 0 to 1."""

    box: Rectangle
    part: float
    is_worth: bool


def regions_of(scenery: Scenery, page: Rectangle, outlines: Sequence[Rectangle] = ()) -> list[Region]:
    """The regions of a page whose visible part is `page`, from its top; those without room for a word are left out.

    `outlines`: further areas in which letters are drawn, which count where no picture has them.
    """
    seen = [(item, visible) for item, box in scenery.images if (visible := _visible(box, page))]
    cells = [scenery.cells(box) for _, box in seen]
    regions = list[Region]()
    for group in _connected(reduce(or_, cells, 0)):
        images = [one for one, of_one in zip(seen, cells, strict=True) if of_one & group]
        whole = around(box for _, box in images)
        left, bottom, right, top = whole
        if top - bottom < _LOWEST or right - left < _LOWEST or max(right - left, top - bottom) < _NARROWEST:
            continue
        part, pixels = _size(whole) / _size(page), [pdf.pixels_of(item) for item, _ in images]
        regions.append(Region(whole, part, part >= _PART and sum(pixels) >= _PIXELS and max(pixels) <= HUGE))
    regions += [
        Region(box, _size(box) / _size(page), is_worth=True)
        for outline in outlines
        if (box := _visible(outline, page)) and not any(common(box, one.box) >= 1 / 2 for one in regions)
    ]
    return sorted(regions, key=lambda one: (-one.box[3], one.box[0]))


def _visible(box: Rectangle, page: Rectangle) -> Rectangle | None:
    left, bottom, right, top = (
        max(box[0], page[0]), max(box[1], page[1]), min(box[2], page[2]), min(box[3], page[3])
    )  # fmt: skip
    return (left, bottom, right, top) if left < right and bottom < top else None


def _connected(left: int) -> list[int]:
    groups = []
    while left:
        grown, group = left & -left, 0
        while grown != group:
            group = grown
            grown |= ((group << 1) & _INNER) | ((group & _INNER) >> 1) | (group << _SIDE) | (group >> _SIDE)
            grown &= left
        groups.append(group)
        left &= ~group
    return groups


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
        if picture is None:
            return True
        shown, explained = _cells_with_ink(picture), set[tuple[int, int]]()
        for area in on_it:
            left, top, right, bottom = picture.view.pixels_of(area)
            columns = range((left - picture.view.left) // _CELL, (right - picture.view.left) // _CELL + 1)
            rows = range((top - picture.view.top) // _CELL, (bottom - picture.view.top) // _CELL + 1)
            explained.update(product(columns, rows))
    return len(shown & explained) >= _EXPLAINED * len(shown)


def shows_writing(drawing: Drawing, region: Region) -> bool:
    """Whether a region is mostly light with something dark on it, as paper is and a photograph is not."""
    with drawing.of([region.box], 1) as picture:
        green = picture.pixels[1::4] if picture else b""
    if not green:
        return False
    light, dark = (len(green.translate(None, not_these)) / len(green) for not_these in (_NOT_LIGHT, _NOT_DARK))
    return light >= _PAPER and dark >= _DRAWN


def _cells_with_ink(picture: Picture) -> set[tuple[int, int]]:
    """The cells of a picture, by column and row, that show something rather than one colour."""
    view, found = picture.view, set[tuple[int, int]]()
    width, height = view.right - view.left, view.bottom - view.top
    for row in range(0, height, _CELL):
        levels = 0
        for line in range(row, min(row + _CELL, height)):
            start = line * picture.stride
            green = picture.pixels[start : start + 4 * width][1::4]
            levels |= int.from_bytes(green.translate(_LEVELS), "big")
        of_pixels = levels.to_bytes(width, "big")
        for column in range(0, width, _CELL):
            met = reduce(or_, of_pixels[column : column + _CELL])
            if met.bit_length() - (met & -met).bit_length() >= _APART:
                found.add((column // _CELL, row // _CELL))
    return found


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
