"""Where the shapes of a slide lie, on it or outside it, whether they are marked as hidden, and which pictures hide.

ISO/IEC 29500-1, 20.1.7: a shape has its place in a:xfrm, in English Metric Units; inside a group these are units of
the group's own, from which its xfrm leads to those around it. A picture hides what lies under it if it is opaque.
"""

import math
import struct
import zlib
from dataclasses import dataclass

from lxml import etree

from pipeline.parse.office.package import Package
from pipeline.parse.sight.look import Appearance, Box

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
EMU = 12_700
"""English Metric Units in a point."""
TRUE = {"1", "true", "on"}
SHAPES = {"sp", "pic", "graphicFrame", "cxnSp", "grpSp", "contentPart", "wsp", "wgp"}
_GROUPS = {"grpSp", "wgp"}
_TRANSFORMS = (f"{{*}}spPr/{A}xfrm", f"{{*}}grpSpPr/{A}xfrm", "{*}xfrm")


@dataclass(frozen=True)
class View:
    """A slide of `width` and `height`; a shape's x, y is at x_scale * x + left, y_scale * y + top of it. All in EMU."""

    width: float
    height: float
    left: float = 0.0
    top: float = 0.0
    x_scale: float = 1.0
    y_scale: float = 1.0

    def appearance(self, shape: etree._Element) -> Appearance:
        """How a shape lies; one without a place of its own has that of its layout, which is not known here."""
        shown = all(
            one.get("hidden") not in TRUE for properties in shape for one in properties.iterchildren("{*}cNvPr")
        )
        # The slide and a point around it, on which letters at its edge may lie, unless it has no edges.
        clip = None if math.isinf(self.width) else (-1.0, -1.0, self.width / EMU + 2, self.height / EMU + 2)
        return Appearance(shown=shown, box=self.around(shape), clip=clip)

    def around(self, shape: etree._Element) -> Box | None:
        """The box of a shape in points, as large as the circle around it where it is turned; at least a point each way.

        Text that does not fit into its shape is drawn all the same, so a shape without a size hides nothing.
        """
        box = self.box(shape)
        if box is None:
            return None
        x, y, width, height = box
        if is_turned(shape):
            radius = math.hypot(width, height) / 2
            x, y = x + width / 2 - radius, y + height / 2 - radius
            width = height = 2 * radius
        return x, y, max(width, 1.0), max(height, 1.0)

    def box(self, shape: etree._Element) -> Box | None:
        """The box of a shape in points, as the shape itself states it."""
        box = _box(_transform(shape), "off", "ext")
        if box is None:
            return None
        x, y, width, height = box
        return (
            (self.left + self.x_scale * x) / EMU, (self.top + self.y_scale * y) / EMU,
            abs(self.x_scale * width) / EMU, abs(self.y_scale * height) / EMU,
        )  # fmt: skip

    def inside(self, name: str, shape: etree._Element) -> "View":
        """The view from inside a shape: that of a group has other units."""
        transform = _transform(shape) if name in _GROUPS else None
        outer, inner = _box(transform, "off", "ext"), _box(transform, "chOff", "chExt")
        if not outer or not inner or not inner[2] or not inner[3]:
            return self
        x, y = outer[2] / inner[2], outer[3] / inner[3]
        left, top = outer[0] - x * inner[0], outer[1] - y * inner[1]
        return View(
            self.width, self.height, self.left + self.x_scale * left, self.top + self.y_scale * top,
            self.x_scale * x, self.y_scale * y,
        )  # fmt: skip


def is_turned(shape: etree._Element) -> bool:
    """Whether a shape is drawn at an angle."""
    transform = _transform(shape)
    return transform is not None and transform.get("rot", "0") != "0"


def _transform(shape: etree._Element) -> etree._Element | None:
    return next((found for path in _TRANSFORMS if (found := shape.find(path)) is not None), None)


def _box(transform: etree._Element | None, place: str, size: str) -> tuple[float, float, float, float] | None:
    """x, y, width and height; None where they are not said, or absurd."""
    if transform is None:
        return None
    at, extent = transform.find(A + place), transform.find(A + size)
    if at is None or extent is None:
        return None
    try:
        x, y, width, height = (float(int(one.get(key, ""))) for one, key in
                               ((at, "x"), (at, "y"), (extent, "cx"), (extent, "cy")))  # fmt: skip
    except (ValueError, OverflowError):
        return None
    return x, y, width, height


_R_EMBED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_JPEG, _BMP, _PNG = b"\xff\xd8\xff", b"BM", b"\x89PNG\r\n\x1a\n"
_FADING = ("alphaModFix", "alphaMod", "alphaRepl", "clrChange")
_MOST = 1 << 25  # bytes of a picture, and of its pixels, that are looked at
_PIXEL = {(6, 8): 4, (6, 16): 8, (4, 8): 2, (4, 16): 4}  # bytes of one, by colour type and bits, with an opacity


class Pictures:
    """The pictures of a package, each looked at once."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._known: dict[str, bool] = {}

    def is_opaque(self, part: str, picture: etree._Element) -> bool:
        """Whether all of a picture (p:pic) in a part is drawn: it has no transparency and is not made paler."""
        blip = next(picture.iter("{*}blip"), None)
        if blip is None or any(next(blip.iterchildren("{*}" + name), None) is not None for name in _FADING):
            return False
        relation = self._package.relations(part).get(blip.get(_R_EMBED, ""))
        if relation is None or relation.external or not self._package.has(relation.target):
            return False
        if relation.target not in self._known:
            self._known[relation.target] = _is_opaque(self._package.head(relation.target, _MOST))
        return self._known[relation.target]


def _is_opaque(data: bytes) -> bool:
    """Whether a picture hides all below it, by its format or its chunks (PNG, third edition, 5.3 and 11)."""
    if not data.startswith(_PNG) or len(data) < 29:
        return data.startswith((_JPEG, _BMP))
    width, height, bits, kind, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    at, pieces = len(_PNG), list[bytes]()
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        if name == b"tRNS":
            return False
        if name == b"IDAT" and (kind, bits) not in _PIXEL:
            return True
        pieces += [data[at + 8 : at + 8 + length]] if name == b"IDAT" else []
        at += 12 + length
    size = height * (1 + width * _PIXEL.get((kind, bits), _MOST))
    if interlaced or size > _MOST:
        return False
    try:
        rows = zlib.decompressobj().decompress(b"".join(pieces), max(size, 1))
        return len(rows) == size and _is_filled(rows, width, _PIXEL[kind, bits], bits // 8)
    except zlib.error:
        return False


def _is_filled(rows: bytes, width: int, pixel: int, depth: int) -> bool:
    """Whether every opacity is the highest, told from the rows as filters left them (9.2), of so many bytes a pixel.

    Each of the five filters leaves one pattern of a row without transparency below another one.
    """
    length = 1 + width * pixel
    for start in range(0, len(rows), length):
        first, rest = (_FIRST_ROW if start == 0 else _NEXT_ROWS).get(rows[start], (0, 0))
        for place in range(pixel - depth, pixel):
            found = rows[start + 1 + place : start + length : pixel]
            if found != bytes([first]) + bytes([rest]) * (width - 1):
                return False
    return bool(rows)


# What a filter leaves of the opacity 255 in the first pixel of a row and in the others: none, sub, up, average, Paeth.
_FIRST_ROW = {0: (255, 255), 1: (255, 0), 2: (255, 255), 3: (255, 128), 4: (255, 0)}
_NEXT_ROWS = {0: (255, 255), 1: (255, 0), 2: (0, 0), 3: (128, 0), 4: (0, 0)}
