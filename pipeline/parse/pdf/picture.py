"""Pictures of a page: one for OCR, and small ones that tell whether a text changes anything that is seen."""

import ctypes
from dataclasses import dataclass
from typing import Any

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.geometry import Rectangle

_DOTS = 300  # an inch, which is what OCR likes
_MOST_PIXELS = 25_000_000
_LOOK_PIXELS = 2_000_000
_LOOK_SCALE = 1.0  # pixels a point: letters of the smallest size still leave a grey
_NOTICED = 10  # of 255 by which something must differ from what is behind it
_INK = 48  # of 255 by which dark and light differ where something is written


def pgm(page: Any) -> bytes:
    """The page in grey, at 300 dots an inch where that is not too many."""
    width, height = _size(page, _DOTS / 72, _MOST_PIXELS)
    pixels, stride = _render(page, width, height, raw.FPDFBitmap_Gray)
    rows = (pixels[row * stride : row * stride + width] for row in range(height))
    return b"P5\n%d %d\n255\n" % (width, height) + (pixels if stride == width else b"".join(rows))


@dataclass(frozen=True)
class Look:
    """The page in colour, four bytes a pixel."""

    page: Any
    width: int
    height: int
    pixels: bytes
    stride: int

    def differs(self, other: "Look", area: Rectangle) -> bool:
        """Whether two pictures of a page differ in an area of it so much that it is noticed."""
        left, top, right, bottom = self._pixels_of(area)
        left, top = max(0, left - 1), max(0, top - 1)  # boxes of letters are not exact
        right, bottom = min(self.width, right + 1), min(self.height, bottom + 1)
        for row in range(top, bottom):
            place = slice(row * self.stride + 4 * left, row * self.stride + 4 * right)
            ours, theirs = self.pixels[place], other.pixels[place]
            if ours != theirs and any(abs(one - two) > _NOTICED for one, two in zip(ours, theirs, strict=True)):
                return True
        return False

    def has_ink(self, area: Rectangle) -> bool:
        """Whether anything is to be seen in an area, rather than one colour."""
        left, top, right, bottom = self._pixels_of(area)
        rows = [self.pixels[row * self.stride + 4 * left + 1 : row * self.stride + 4 * right : 4]
                for row in range(top, bottom)]  # fmt: skip
        return max(map(max, rows)) - min(map(min, rows)) >= _INK

    def _pixels_of(self, area: Rectangle) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of at least one pixel within the picture."""
        corners = [self._pixel(x, y) for x in (area[0], area[2]) for y in (area[1], area[3])]
        left, top = min(x for x, _ in corners), min(y for _, y in corners)
        right, bottom = max(x for x, _ in corners), max(y for _, y in corners)
        left, top = min(max(left, 0), self.width - 1), min(max(top, 0), self.height - 1)
        return left, top, min(max(right, left) + 1, self.width), min(max(bottom, top) + 1, self.height)

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        across, down = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(self.page, 0, 0, self.width, self.height, 0, x, y, across, down)
        return across.value, down.value


def look(page: Any) -> Look:
    """The page as it would be drawn now."""
    width, height = _size(page, _LOOK_SCALE, _LOOK_PIXELS)
    pixels, stride = _render(page, width, height, raw.FPDFBitmap_BGRx)
    return Look(page, width, height, pixels, stride)


def _size(page: Any, scale: float, most: int) -> tuple[int, int]:
    """Pixels across and down, `most` in all."""
    width, height = max(raw.FPDF_GetPageWidthF(page), 0.1), max(raw.FPDF_GetPageHeightF(page), 0.1)
    scale = min(scale, (most / (width * height)) ** 0.5)
    return min(max(1, int(width * scale)), most), min(max(1, int(height * scale)), most)


def _render(page: Any, width: int, height: int, kind: int) -> tuple[bytes, int]:
    bitmap = raw.FPDFBitmap_CreateEx(width, height, kind, None, 0)
    if not bitmap:
        raise MemoryError
    try:
        raw.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
        raw.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, 0)
        stride = raw.FPDFBitmap_GetStride(bitmap)
        return ctypes.string_at(raw.FPDFBitmap_GetBuffer(bitmap), stride * height), stride
    finally:
        raw.FPDFBitmap_Destroy(bitmap)
