"""Drawing a part of a page to look at it: without the pictures that stand elsewhere, and only as far as is allowed.

A picture of the document may declare any number of pixels. What is far from the part in question is left out and costs
nothing; one that is too large to be drawn leaves open what it touches, and nothing else.
"""

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import sub
from typing import Any

from pipeline.parse.pdf import objects as pdf
from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.drawn.survey import Survey
from pipeline.parse.pdf.geometry import IDENTITY, Rectangle, common, transformed
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.sight.colours import alike

SAME, FAINT, CLEAR = range(3)
"""Differences: what nobody notices; what may be noticed; what is as clear as letters must be."""
_DOTS = 300  # an inch, which is what OCR likes
_MOST_PIXELS = 25_000_000
_LOOK_PIXELS = 2_000_000
_LOOK_SCALE = 1.0  # pixels a point: letters of the smallest size still leave a grey
_FINE = 64  # parts of a pixel
_FAR = 1000.0  # points
_MARGIN = 1  # pixels
_NOTICED = 10  # of 255 by which something must differ from what is behind it
_DRAWING = 300_000  # what a drawing costs, beyond the pixels of its pictures
_PER_TEXT = 500
_PER_AREA = 2000
HUGE = 400_000_000  # pixels of a picture that is never drawn
_INK = 48  # of 255 by which dark and light differ where something is written


def pgm(page: Any, area: Rectangle | None = None) -> bytes:
    """The page, or an area of it, in grey, at 300 dots an inch where that is not too many."""
    width, height = _size(page, _DOTS / 72, _MOST_PIXELS)
    view = View(page, width, height, IDENTITY, right=width, bottom=height)
    if area:
        view = replace(view, matrix=matrix_of(page, width, height)).of([area])
    pixels, stride = render(view, raw.FPDFBitmap_Gray)
    width, height = view.right - view.left, view.bottom - view.top
    rows = (pixels[row * stride : row * stride + width] for row in range(height))
    return b"P5\n%d %d\n255\n" % (width, height) + b"".join(rows)


@dataclass(frozen=True)
class View:
    """The part of a page that is looked at: from `left`, `top` to `right`, `bottom`, in pixels of the whole page."""

    page: Any
    width: int
    height: int
    matrix: tuple[float, float, float, float, float, float]  # from points of the page to pixels
    left: int = 0
    top: int = 0
    right: int = 0
    bottom: int = 0
    annotations: bool = False  # whether they are drawn, too
    form: Any = None  # what draws form fields

    def pixels_of(self, area: Rectangle) -> tuple[int, int, int, int]:
        """The left, top, right and bottom edge of an area in pixels of the page, at least one of them."""
        left, top, right, bottom = transformed(area, self.matrix)
        x0, y0 = min(max(_whole(left), 0), self.width - 1), min(max(_whole(top), 0), self.height - 1)
        return x0, y0, min(max(_whole(right), x0) + 1, self.width), min(max(_whole(bottom), y0) + 1, self.height)

    def of(self, areas: Iterable[Rectangle]) -> "View":
        """The part in which these areas lie, with a margin."""
        lefts, tops, rights, bottoms = zip(*map(self.pixels_of, areas), strict=True)
        left, top, right, bottom = self.with_margin(min(lefts), min(tops), max(rights), max(bottoms))
        return replace(self, left=left, top=top, right=right, bottom=bottom)

    def with_margin(self, left: int, top: int, right: int, bottom: int) -> tuple[int, int, int, int]:
        """These edges with a margin, within the page."""
        right, bottom = min(self.width, right + _MARGIN), min(self.height, bottom + _MARGIN)
        return max(0, left - _MARGIN), max(0, top - _MARGIN), right, bottom


@dataclass(frozen=True)
class Picture:
    """A part of a page in colour, four bytes a pixel. Areas are of the page and lie within it."""

    view: View
    pixels: bytes
    stride: int

    def difference(self, other: "Picture", area: Rectangle) -> int:
        """How much two pictures of a page differ in an area of it: SAME, FAINT or CLEAR."""
        found, edges = SAME, self.view.with_margin(*self.view.pixels_of(area))  # boxes of letters are not exact
        for ours, theirs in zip(self._rows(edges), other._rows(edges), strict=True):
            for one, two in zip(_pixels(ours), _pixels(theirs), strict=True) if ours != theirs else ():
                if max(map(abs, map(sub, one, two))) > _NOTICED:
                    found = FAINT
                    if not alike(one, two):
                        return CLEAR
        return found

    def lacks(self, colour: tuple[int, int, int], area: Rectangle) -> bool:
        """Whether a letter of a colour could be read somewhere in an area."""
        seen = {pixel for row in self._rows(self.view.pixels_of(area)) for pixel in _pixels(row)}
        return any(not alike(colour, pixel) for pixel in seen)

    def has_ink(self, area: Rectangle) -> bool:
        """Whether anything is to be seen in an area, rather than one colour."""
        rows = [row[1::4] for row in self._rows(self.view.pixels_of(area))]
        return max(map(max, rows)) - min(map(min, rows)) >= _INK

    def _rows(self, edges: tuple[int, int, int, int]) -> Iterator[bytes]:
        left, top, right, bottom = edges
        for row in range(top, bottom):
            start = (row - self.view.top) * self.stride - 4 * self.view.left
            yield self.pixels[start + 4 * left : start + 4 * right]


def _pixels(row: bytes) -> Iterable[tuple[int, int, int]]:
    return zip(row[2::4], row[1::4], row[::4], strict=True)


def _whole(pixels: float) -> int:
    """The nearest integer, also for infinite numbers and those that are none."""
    return round(min(max(pixels, -1e6), 1e6)) if pixels == pixels else 0


def view_of(page: Page, areas: Iterable[Rectangle], *, annotations: bool) -> View:
    """The view of a page that shows these areas (in points), with or without its annotations."""
    width, height = _size(page.handle, _LOOK_SCALE, _LOOK_PIXELS)
    matrix = matrix_of(page.handle, width, height)
    return View(page.handle, width, height, matrix, annotations=annotations, form=page.form).of(areas)


def look(view: View) -> Picture:
    """The page as it would be drawn now."""
    return Picture(view, *render(view, raw.FPDFBitmap_BGRx))


def matrix_of(page: Any, width: int, height: int) -> tuple[float, float, float, float, float, float]:
    """The matrix (a, b, c, d, e, f) from points of the page to pixels, by where pdfium puts three points."""
    across, down = ctypes.c_int(), ctypes.c_int()

    def place(x: float, y: float) -> tuple[float, float]:
        raw.FPDF_PageToDevice(page, 0, 0, width * _FINE, height * _FINE, 0, x, y, across, down)
        return across.value / _FINE, down.value / _FINE

    (e, f), (a, b), (c, d) = place(0, 0), place(_FAR, 0), place(0, _FAR)
    return (a - e) / _FAR, (b - f) / _FAR, (c - e) / _FAR, (d - f) / _FAR, e, f


def _size(page: Any, scale: float, most: int) -> tuple[int, int]:
    width, height = max(raw.FPDF_GetPageWidthF(page), 0.1), max(raw.FPDF_GetPageHeightF(page), 0.1)
    scale = min(scale, (most / (width * height)) ** 0.5)
    return min(max(1, int(width * scale)), most), min(max(1, int(height * scale)), most)


def render(view: View, kind: int) -> tuple[bytes, int]:
    """The pixels of a view, in a format of pdfium, and the bytes of a row."""
    width, height = view.right - view.left, view.bottom - view.top
    place = (-view.left, -view.top, view.width, view.height, 0, raw.FPDF_ANNOT if view.annotations else 0)
    bitmap = raw.FPDFBitmap_CreateEx(width, height, kind, None, 0)
    if not bitmap:
        raise MemoryError
    try:
        raw.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
        raw.FPDF_RenderPageBitmap(bitmap, view.page, *place)
        if view.annotations and view.form:
            raw.FPDF_FFLDraw(view.form, bitmap, view.page, *place)
        stride = raw.FPDFBitmap_GetStride(bitmap)
        return ctypes.string_at(raw.FPDFBitmap_GetBuffer(bitmap), stride * height), stride
    finally:
        raw.FPDFBitmap_Destroy(bitmap)


@dataclass
class Budget:
    """The pixels that may still be drawn for one document, so that a long one is read in time."""

    left: int = 3_000_000_000

    def allows(self, cost: int) -> bool:
        """Spend `cost` pixels if as many are left; returns whether they were."""
        if cost > self.left:
            return False
        self.left -= cost
        return True


class Drawing:
    """A page that can be drawn, as far as the document's budget allows, without the pictures that stand elsewhere."""

    def __init__(self, page: Page, survey: Survey, budget: Budget) -> None:
        self._page = page
        self._scenery = survey.scenery
        self._annotated = bool(survey.covers)
        self._budget = budget
        self._cost = _DRAWING + _PER_TEXT * len(survey.texts) + _PER_AREA * survey.scenery.areas
        self._huge = {item: box for item, box in survey.scenery.images if pdf.pixels_of(item) > HUGE}

    def may_show(self, area: Rectangle) -> bool:
        """Whether an area can be drawn as it is: no picture that is too large touches it."""
        return not any(common(area, box) or common(box, area) for box in self._huge.values())

    @contextmanager
    def of(self, areas: Iterable[Rectangle], times: int) -> Iterator[Picture | None]:
        """The page around these areas, which all `may_show`; None where drawing it so often is not allowed.

        As long as it lasts, other drawings of the same view lack the same pictures.
        """
        areas = list(areas)
        cells = self._scenery.cells_of(areas)
        near = {item for item, box in self._scenery.images if self._scenery.cells(box) & cells}.difference(self._huge)
        if not self._budget.allows((self._cost + sum(map(pdf.pixels_of, near))) * times):
            yield None
            return
        elsewhere = [item for item, _ in self._scenery.images if item not in near]
        for item in elsewhere:
            pdf.set_active(item, 0)
        yield look(view_of(self._page, areas, annotations=self._annotated))
        for item in elsewhere:
            pdf.set_active(item, 1)
