"""Pictures of a page: one for OCR, and small ones that tell whether a text changes anything that is seen."""

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import sub
from typing import Any

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.geometry import IDENTITY, Rectangle, transformed
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
    return b"P5\n%d %d\n255\n" % (width, height) + (pixels if stride == width else b"".join(rows))


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
        return replace(
            self,
            left=max(0, min(lefts) - _MARGIN),
            top=max(0, min(tops) - _MARGIN),
            right=min(self.width, max(rights) + _MARGIN),
            bottom=min(self.height, max(bottoms) + _MARGIN),
        )


@dataclass(frozen=True)
class Look:
    """A part of a page in colour, four bytes a pixel. Areas are of the page and lie within it."""

    view: View
    pixels: bytes
    stride: int

    def difference(self, other: "Look", area: Rectangle) -> int:
        """How much two pictures of a page differ in an area of it: SAME, FAINT or CLEAR."""
        found = SAME
        left, top, right, bottom = self.view.pixels_of(area)
        left, top = max(0, left - _MARGIN), max(0, top - _MARGIN)  # boxes of letters are not exact
        right, bottom = min(self.view.width, right + _MARGIN), min(self.view.height, bottom + _MARGIN)
        for row in range(top, bottom):
            place = self._row(row, left, right)
            ours, theirs = self.pixels[place], other.pixels[place]
            if ours != theirs:
                for one, two in zip(_pixels(ours), _pixels(theirs), strict=True):
                    if max(map(abs, map(sub, one, two))) > _NOTICED:
                        found = FAINT
                        if not alike(one, two):
                            return CLEAR
        return found

    def lacks(self, colour: tuple[int, int, int], area: Rectangle) -> bool:
        """Whether a letter of a colour could be read somewhere in an area."""
        left, top, right, bottom = self.view.pixels_of(area)
        seen = {pixel for row in range(top, bottom) for pixel in _pixels(self.pixels[self._row(row, left, right)])}
        return any(not alike(colour, pixel) for pixel in seen)

    def has_ink(self, area: Rectangle) -> bool:
        """Whether anything is to be seen in an area, rather than one colour."""
        left, top, right, bottom = self.view.pixels_of(area)
        places = [self._row(row, left, right) for row in range(top, bottom)]
        rows = [self.pixels[place.start + 1 : place.stop : 4] for place in places]
        return max(map(max, rows)) - min(map(min, rows)) >= _INK

    def _row(self, row: int, left: int, right: int) -> slice:
        start = (row - self.view.top) * self.stride - 4 * self.view.left
        return slice(start + 4 * left, start + 4 * right)


def _pixels(row: bytes) -> Iterable[tuple[int, int, int]]:
    """Red, green and blue of each pixel."""
    return zip(row[2::4], row[1::4], row[::4], strict=True)


def _whole(pixels: float) -> int:
    """The nearest integer, also for infinite numbers and those that are none."""
    return round(min(max(pixels, -1e6), 1e6)) if pixels == pixels else 0


def view_of(page: Page, areas: Iterable[Rectangle], *, annotations: bool) -> View:
    """The view of a page that shows these areas (in points), with or without its annotations."""
    width, height = _size(page.handle, _LOOK_SCALE, _LOOK_PIXELS)
    matrix = matrix_of(page.handle, width, height)
    return View(page.handle, width, height, matrix, annotations=annotations, form=page.form).of(areas)


def look(view: View) -> Look:
    """The page as it would be drawn now."""
    return Look(view, *render(view, raw.FPDFBitmap_BGRx))


def matrix_of(page: Any, width: int, height: int) -> tuple[float, float, float, float, float, float]:
    """The matrix (a, b, c, d, e, f) from points of the page to pixels, by where pdfium puts three points."""
    across, down = ctypes.c_int(), ctypes.c_int()

    def place(x: float, y: float) -> tuple[float, float]:
        raw.FPDF_PageToDevice(page, 0, 0, width * _FINE, height * _FINE, 0, x, y, across, down)
        return across.value / _FINE, down.value / _FINE

    (e, f), (a, b), (c, d) = place(0, 0), place(_FAR, 0), place(0, _FAR)
    return (a - e) / _FAR, (b - f) / _FAR, (c - e) / _FAR, (d - f) / _FAR, e, f


def _size(page: Any, scale: float, most: int) -> tuple[int, int]:
    """Pixels across and down, `most` in all."""
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
