"""What of a slide a person sees: shapes that are marked as hidden, and shapes that lie outside it.

ISO/IEC 29500-1, 20.1.7: a shape has its place in a:xfrm, in English Metric Units; inside a group these are units of
the group's own, from which its xfrm leads to those around it.
"""

import math
from dataclasses import dataclass

from lxml import etree

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SHAPES = {"sp", "pic", "graphicFrame", "cxnSp", "grpSp", "contentPart"}
_TRANSFORMS = (f"{P}spPr/{A}xfrm", f"{P}grpSpPr/{A}xfrm", f"{P}xfrm")
_TRUE = {"1", "true", "on"}


@dataclass(frozen=True)
class View:
    """A slide of `width` and `height`; a shape's x, y is at x_scale * x + left, y_scale * y + top of it."""

    width: float
    height: float
    left: float = 0.0
    top: float = 0.0
    x_scale: float = 1.0
    y_scale: float = 1.0

    def hides(self, name: str, shape: etree._Element) -> str | None:
        """How a shape is hidden (a kind of hidden.KINDS), if it is. One without a place has that of its layout."""
        if name not in _SHAPES:
            return None
        if any(one.get("hidden") in _TRUE for properties in shape for one in properties.iterchildren("{*}cNvPr")):
            return "marked_hidden"
        box = _box(_transform(shape), "off", "ext")
        return "off_page" if box and self._is_outside(*box, _turn(shape)) else None

    def inside(self, name: str, shape: etree._Element) -> "View":
        """The view from inside a shape: that of a group has other units."""
        transform = _transform(shape) if name == "grpSp" else None
        outer, inner = _box(transform, "off", "ext"), _box(transform, "chOff", "chExt")
        if not outer or not inner or not inner[2] or not inner[3]:
            return self
        x, y = outer[2] / inner[2], outer[3] / inner[3]
        left, top = outer[0] - x * inner[0], outer[1] - y * inner[1]
        return View(
            self.width, self.height, self.left + self.x_scale * left, self.top + self.y_scale * top,
            self.x_scale * x, self.y_scale * y,
        )  # fmt: skip

    def _is_outside(self, x: float, y: float, width: float, height: float, turned: bool) -> bool:
        left, top = self.left + self.x_scale * x, self.top + self.y_scale * y
        wide, high = abs(self.x_scale * width), abs(self.y_scale * height)
        if turned:  # the circle around it
            radius = math.hypot(wide, high) / 2
            left, top = left + wide / 2 - radius, top + high / 2 - radius
            wide = high = 2 * radius
        return left > self.width or top > self.height or left + wide < 0 or top + high < 0


def _transform(shape: etree._Element) -> etree._Element | None:
    return next((found for path in _TRANSFORMS if (found := shape.find(path)) is not None), None)


def _turn(shape: etree._Element) -> bool:
    transform = _transform(shape)
    return transform is not None and transform.get("rot", "0") != "0"


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
