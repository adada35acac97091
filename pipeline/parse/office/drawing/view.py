"""Where the shapes of a slide lie, on it or outside it, whether they are marked as hidden, what may hide their text.

ISO/IEC 29500-1, 20.1.7: a shape has its place in a:xfrm, in English Metric Units; inside a group these are units of
the group's own, from which its xfrm leads to those around it. What is neither read nor listed as harmless (_PLACE,
_BODY) makes the text of a shape doubtful.
"""

import math
import re
from dataclasses import dataclass, replace

from lxml import etree

from pipeline.parse.markup.reading import local_name
from pipeline.parse.sight.look import Appearance, Box

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
EMU = 12_700
"""English Metric Units in a point."""
TRUE = {"1", "true", "on"}
SHAPES = {"sp", "pic", "graphicFrame", "cxnSp", "grpSp", "contentPart", "wsp", "wgp"}
_GROUPS = {"grpSp", "wgp"}
_TRANSFORMS = (f"{{*}}spPr/{A}xfrm", f"{{*}}grpSpPr/{A}xfrm", "{*}xfrm")
_PLACE = {"xfrm", "prstGeom", "custGeom", "noFill", "solidFill", "gradFill", "blipFill", "pattFill", "grpFill", "ln",
          "effectLst", "effectDag", "extLst"}  # fmt: skip
_BESIDE_TEXT = {"outerShdw", "innerShdw", "prstShdw", "reflection", "glow", "noFill"}
_AUTOFIT = {"noAutofit", "spAutoFit", "normAutofit", "prstTxWarp", "extLst"}
_BODY = re.compile(
    r"(wrap|anchor|anchorCtr|rtlCol|fromWordArt|forceAA|compatLnSpc|upright|numCol|spcCol|spcFirstLastPara|vert|rot)=.*|"
    r"(vert|horz)Overflow=overflow|horzOverflow=clip|[lrtb]Ins=(-?\d{1,6})"
)
_SCALES = (0.5, 2.0)  # the least and most that a group may change the size of what is in it without a doubt


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
        """How a shape lies; one without a place of its own has that of its layout, which is not known here.

        One that is turned is as large as the circle around it. Text that does not fit into its shape is drawn all the
        same, so a shape without a size hides nothing: it has at least a point each way.
        """
        shown = all(
            one.get("hidden") not in TRUE for properties in shape for one in properties.iterchildren("{*}cNvPr")
        )
        # The slide and a point around it, on which letters at its edge may lie, unless it has no edges.
        clip = None if math.isinf(self.width) else (-1.0, -1.0, self.width / EMU + 2, self.height / EMU + 2)
        box = self.box(shape)
        if box is not None:
            x, y, width, height = box
            if is_turned(shape):
                radius = math.hypot(width, height) / 2
                x, y = x + width / 2 - radius, y + height / 2 - radius
                width = height = 2 * radius
            box = x, y, max(width, 1.0), max(height, 1.0)
        return Appearance(shown=shown, box=box, clip=clip)

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
        outer, inner = _boxes(shape) if name in _GROUPS else (None, None)
        if not outer or not inner or not inner[2] or not inner[3]:
            return self
        x, y = outer[2] / inner[2], outer[3] / inner[3]
        left, top = outer[0] - x * inner[0], outer[1] - y * inner[1]
        return replace(
            self, left=self.left + self.x_scale * left, top=self.top + self.y_scale * top,
            x_scale=self.x_scale * x, y_scale=self.y_scale * y,
        )  # fmt: skip


def is_turned(shape: etree._Element) -> bool:
    """Whether a shape is drawn at an angle."""
    transform = _transform(shape)
    return transform is not None and transform.get("rot", "0") != "0"


def doubt_of_shape(shape: etree._Element) -> str:
    """What of a shape's properties may hide its text in a way that is not computed; "" for nothing."""
    for properties in shape.iterfind("{*}txBody/{*}bodyPr"):
        if doubt := doubt_of_body(properties):
            return doubt
    for properties in shape.iterchildren("{*}spPr", "{*}grpSpPr"):
        for one in properties:
            name = local_name(str(one.tag))
            effects = [local_name(str(part.tag)) for part in one] if name in {"effectLst", "effectDag"} else []
            bad = [effect for effect in effects if effect not in _BESIDE_TEXT]
            if bad or name not in _PLACE:
                return bad[0] if bad else name
    return ""


def doubt_of_body(body: etree._Element) -> str:
    """What of the properties of a text body (a:bodyPr) may hide its text in a way that is not computed."""
    for key, value in body.attrib.items():
        if not _BODY.fullmatch(f"{key}={value}"):
            return str(key)
    for one in body:
        name = local_name(str(one.tag))
        if name not in _AUTOFIT or one.get("prst", "textNoShape") != "textNoShape":
            return name
    return ""


def doubt_of_group(shape: etree._Element) -> str:
    """Whether a group makes what is in it much smaller or larger, or a shape lies outside of the group it is in."""
    outer, inner = _boxes(shape)
    if outer and inner:
        for whole, part in zip(outer[2:], inner[2:], strict=True):
            if part and not _SCALES[0] <= whole / part <= _SCALES[1]:
                return "the scale of a group"
    parent = shape.getparent()
    around = None if parent is None else _boxes(parent)[1]
    if outer and around and all(around[2:]):
        room = max(around[2:])
        if any(not around[side] - room / 4 <= outer[side] <= around[side] + around[side + 2] for side in (0, 1)):
            return "a place outside of its group"
    return ""


def _transform(shape: etree._Element) -> etree._Element | None:
    return next((found for path in _TRANSFORMS if (found := shape.find(path)) is not None), None)


def _boxes(shape: etree._Element) -> tuple[Box | None, Box | None]:
    """The box of a shape in the units around it, and that of a group in its own units."""
    transform = _transform(shape)
    return _box(transform, "off", "ext"), _box(transform, "chOff", "chExt")


def _box(transform: etree._Element | None, place: str, size: str) -> Box | None:
    """x, y, width and height; None where they are not said, or absurd."""
    at, extent = (None if transform is None else transform.find(A + name) for name in (place, size))
    if at is None or extent is None:
        return None
    try:
        x, y, width, height = (float(int(one.get(key, ""))) for one, key in
                               ((at, "x"), (at, "y"), (extent, "cx"), (extent, "cy")))  # fmt: skip
    except (ValueError, OverflowError):
        return None
    return x, y, width, height
