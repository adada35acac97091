"""Text boxes, charts and word art in a Word document, with where they lie and what is behind their text.

DrawingML (ISO/IEC 29500-1, 20.4) says places in English Metric Units, VML (ISO/IEC 29500-4, 19) in a style like CSS's.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree

from pipeline.parse.office.drawing.shapes import GRAPHICS, A
from pipeline.parse.office.drawing.theme import UNCLEAR, UNKNOWN, Theme, over, shape_fill
from pipeline.parse.office.drawing.view import EMU, TRUE, View
from pipeline.parse.office.package import children
from pipeline.parse.office.word.looks import W
from pipeline.parse.office.word.sections import Page
from pipeline.parse.sight.colours import TRANSPARENT, Colour, Paint, colour_of
from pipeline.parse.sight.look import SLIVER, Appearance

PICTURES = {A + "blip", "{urn:schemas-microsoft-com:vml}imagedata"}
"""What refers to a picture's file, in DrawingML and in VML."""
_TEXT = {W + "txbxContent", A + "p"} | GRAPHICS | PICTURES
_FROM_EDGE = {"page", "leftMargin", "topMargin"}
_FROM_COLUMN = {"margin", "column", "text"}
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))(pt|in|cm|mm|pc|px|)")
_UNITS = {"pt": 1.0, "in": 72.0, "cm": 72 / 2.54, "mm": 7.2 / 2.54, "pc": 12.0, "px": 0.75, "": 0.75}
_FALSE = {"f", "false", "0"}
_LINE = 12.0  # points: what a box that grows with its text has room for at least


@dataclass(frozen=True)
class Drawn:
    """An element that holds text in a drawing: how that is hidden, if it is, and the colour behind it."""

    element: etree._Element
    hides: str | None
    behind: Colour


@dataclass(frozen=True)
class _Place:
    """The surroundings of a text: how the shape around it appears, and the shape's own place in a drawing.

    `behind` is behind its text, `paper` behind the whole drawing.
    """

    appearance: Appearance
    behind: Colour
    paper: Colour
    view: View | None = None
    in_group: bool = False
    origin: float = math.inf  # the farthest from the left edge that its column begins


class Boxes:
    """Finds what holds text in drawings, on pages of one size. `alone`: no two drawings of the document may overlap."""

    def __init__(self, theme: Theme, page: Page, *, alone: bool) -> None:
        self._theme = theme
        self._page = page
        self._alone = alone

    def found(self, drawing: etree._Element, behind: Colour, origin: float) -> list[Drawn]:
        """Text boxes, paragraphs of DrawingML, charts, diagrams and word art in a drawing, with `behind` behind it.

        Its column begins at most `origin` points from the left edge of the page.
        """
        return list(self._found(drawing, _Place(Appearance(), UNKNOWN, behind, origin=origin)))

    def _found(self, element: etree._Element, place: _Place) -> Iterator[Drawn]:
        for name, child in children(element):
            if child.tag in _TEXT:
                yield Drawn(child, place.appearance.hides, place.behind)
            elif name == "textpath":
                yield Drawn(child, place.appearance.hides or _word_art(child, place.behind), place.behind)
            elif name in {"anchor", "inline"}:
                yield from self._found(child, self._anchored(child, name == "anchor", place))
            elif name in {"wsp", "wgp", "grpSp"}:
                yield from self._found(child, self._shape(child, name != "wsp", place))
            elif name == "textbox" and _is_marked(_style(child)):
                yield from self._found(child, replace(place, appearance=replace(place.appearance, shown=False)))
            elif name in {"shape", "rect", "roundrect", "oval", "group", "line", "polyline", "arc", "curve", "image"}:
                yield from self._found(child, self._old_shape(child, name == "group", place))
            else:
                yield from self._found(child, place)

    def _anchored(self, anchor: etree._Element, floats: bool, place: _Place) -> _Place:
        """The place of a drawing (wp:anchor, wp:inline); one in the line lies where the text does."""
        shown = all(one.get("hidden") not in TRUE for one in anchor.iterchildren("{*}docPr"))
        appearance = replace(place.appearance, shown=shown)
        behind = place.paper if self._alone or not floats else UNKNOWN
        extent = anchor.find("{*}extent")
        size = None if extent is None else (_emu(extent.get("cx")), _emu(extent.get("cy")))
        grows = next(anchor.iter(A + "spAutoFit"), None) is not None  # as large as its text needs
        if anchor.find("{*}sizeRelH") is not None or anchor.find("{*}sizeRelV") is not None:
            size = None
        if size is not None and None not in size and min(one or 0.0 for one in size) <= SLIVER and not grows:
            appearance = replace(appearance, box=(0.0, 0.0, 0.0, 0.0))
        if not floats:
            return _Place(appearance, behind, behind)
        simple = anchor.find("{*}simplePos") if anchor.get("simplePos") in TRUE else None
        x, right = _offset(anchor.find("{*}positionH"), place.origin, simple, "x")
        y, down = _offset(anchor.find("{*}positionV"), math.inf, simple, "y")
        if appearance.box is not None:
            return _Place(appearance, behind, behind)
        clip = self._page.clip(right, down)
        view = View(clip[2] * EMU, clip[3] * EMU, (x - clip[0]) * EMU, (y - clip[1]) * EMU)
        if size is not None and size[0] and size[1]:
            appearance = replace(appearance, box=(x, y, size[0], size[1]), clip=clip)
        return _Place(appearance, behind, behind, view)

    def _shape(self, shape: etree._Element, is_group: bool, place: _Place) -> _Place:
        """A shape or a group of them: its own place in a group, and its fill."""
        appearance, view = place.appearance, place.view
        if any(one.get("hidden") in TRUE for one in shape.iterchildren("{*}cNvPr")):
            appearance = replace(appearance, shown=False)
        if view is not None and place.in_group:
            lies = view.appearance(shape)
            appearance = replace(appearance, box=lies.box, clip=lies.clip) if lies.box else appearance
        if not is_group:
            return _Place(appearance, over(shape_fill(shape, self._theme), place.behind), UNKNOWN)
        return _Place(appearance, UNKNOWN, UNKNOWN, _inside(shape, view, place.in_group), True)

    def _old_shape(self, shape: etree._Element, is_group: bool, place: _Place) -> _Place:
        """A shape of VML by its style."""
        style = _style(shape)
        appearance = replace(place.appearance, shown=place.appearance.shown and not _is_marked(style))
        floats = style.get("position") == "absolute"
        behind = place.paper if (self._alone or not floats) and not is_group else UNKNOWN
        if not place.in_group:
            appearance = self._old_place(shape, style, appearance, place.origin)
        return _Place(appearance, over([] if is_group else _old_fill(shape), behind), UNKNOWN, None, is_group)

    def _old_place(
        self, shape: etree._Element, style: dict[str, str], appearance: Appearance, origin: float
    ) -> Appearance:
        """How a shape of VML lies that is in no group."""
        width, height = _length(style.get("width")), _length(style.get("height"))
        if width is None or height is None or "mso-width-percent" in style or "mso-height-percent" in style:
            return appearance
        if "mso-fit-shape-to-text:t" in "".join(one.get("style", "") for one in shape.iterchildren("{*}textbox")):
            height = max(height, _LINE)
        if style.get("position") != "absolute" or min(width, height) <= SLIVER:
            small = min(width, height) <= SLIVER
            return replace(appearance, box=(0.0, 0.0, 0.0, 0.0)) if small else appearance
        x, right = _old_offset(style, ("margin-left", "left"), "horizontal", origin)
        y, down = _old_offset(style, ("margin-top", "top"), "vertical", math.inf)
        return replace(appearance, box=(x, y, width, height), clip=self._page.clip(right, down))


def _offset(
    position: etree._Element | None, origin: float, simple: etree._Element | None, axis: str
) -> tuple[float, float]:
    """How far right or down a drawing lies, in points, and how far from the edge of the page that is counted at most.

    One that is aligned with something lies wherever that is.
    """
    if simple is not None:
        return _emu(simple.get(axis)) or 0.0, 0.0
    offset = None if position is None else position.findtext("{*}posOffset")
    found = _emu((offset or "").strip())
    if position is None or found is None:
        return 0.0, math.inf
    return found, _counted_from(position.get("relativeFrom"), origin)


def _old_offset(style: dict[str, str], names: tuple[str, str], way: str, origin: float) -> tuple[float, float]:
    """How far right or down a shape of VML lies by its style, as `_offset` gives it for a drawing."""
    found = _length(style.get(names[0], style.get(names[1], "0")))
    if found is None or style.get(f"mso-position-{way}", "absolute") != "absolute":
        return 0.0, math.inf
    return found, _counted_from(style.get(f"mso-position-{way}-relative", "text"), origin)


def _counted_from(what: str | None, origin: float) -> float:
    """How far from the edge of the page a place is counted at most, for which `origin` holds in its column."""
    return 0.0 if what in _FROM_EDGE else origin if what in _FROM_COLUMN else math.inf


def _inside(group: etree._Element, view: View | None, in_group: bool) -> View | None:
    """The view from inside a group; the outermost lies where its drawing does, whatever it says."""
    box = view.box(group) if view else None
    if view is None or box is None:
        return None
    inner = view.inside("grpSp", group)
    if in_group:
        return inner
    return replace(inner, left=inner.left + view.left - box[0] * EMU, top=inner.top + view.top - box[1] * EMU)


def _word_art(path: etree._Element, behind: Colour) -> str | None:
    """How word art is hidden by the fill of its letters; a line around them can be seen."""
    shape = path.getparent()
    if shape is None or shape.get("stroked", "t") not in _FALSE:
        return None
    paint = next(iter(_old_fill(shape)), Paint(TRANSPARENT))
    return Appearance(colour=paint.colour, opacity=paint.opacity, background=behind).hides


def _old_fill(shape: etree._Element) -> list[Paint]:
    """The fill of a shape of VML, white if it says nothing, as `shape_fill` gives one."""
    details = shape.find("{*}fill")
    said = {} if details is None else details.attrib
    if shape.get("filled", "t") in _FALSE or said.get("on", "t") in _FALSE:
        return []
    if said.get("type", "solid") != "solid":
        return [UNCLEAR]
    value = str(said.get("color") or shape.get("fillcolor", "white"))
    colour = colour_of(value.partition("[")[0].strip().lower())
    return [Paint(colour if isinstance(colour, tuple) else None, _share(str(said.get("opacity", "1"))))]


def _share(text: str) -> float:
    """The opacity, from 0 to 1, that "0.5", "50%" or "32768f" states; 1 for any other text."""
    scale = {"f": 1 / 65_536, "%": 0.01}.get(text[-1:], 1.0)
    try:
        return min(max(float(text.rstrip("f%")) * scale, 0.0), 1.0)
    except ValueError:
        return 1.0


def _is_marked(style: dict[str, str]) -> bool:
    """Whether a style of VML says that something is not to be shown."""
    return style.get("visibility") == "hidden" or style.get("display") == "none" or "mso-hide" in style


def _style(shape: etree._Element) -> dict[str, str]:
    pairs = (one.partition(":") for one in shape.get("style", "").lower().split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _length(text: str | None) -> float | None:
    """A length of VML in points; None for a text that is none."""
    match = _LENGTH.fullmatch((text or "").strip())
    return float(match[1]) * _UNITS[match[2]] if match and len(match[1]) < 16 else None


def _emu(text: str | None) -> float | None:
    """English Metric Units as points; None for what is no number, or absurd."""
    digits = (text or "").removeprefix("-")
    return int(text or "") / EMU if digits.isascii() and digits.isdecimal() and len(digits) < 16 else None
