"""Text boxes, charts and word art in a Word document, with what is behind their text and what may hide it.

DrawingML (ISO/IEC 29500-1, 20.4) says places in English Metric Units, VML (ISO/IEC 29500-4, 19) in a style like CSS's.
What is neither read here nor listed as harmless makes the text in a drawing doubtful.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree

from pipeline.parse.office.drawing.shapes import GRAPHICS, A
from pipeline.parse.office.drawing.theme import UNCLEAR, UNKNOWN, Theme, over, shape_fill
from pipeline.parse.office.drawing.view import EMU, TRUE, doubt_of_body, doubt_of_group, doubt_of_shape
from pipeline.parse.office.package import children
from pipeline.parse.office.word.looks import W
from pipeline.parse.office.word.sections import Page
from pipeline.parse.sight.colours import TRANSPARENT, Colour, Paint, colour_of
from pipeline.parse.sight.look import SLIVER, Appearance

PICTURES = {A + "blip", "{urn:schemas-microsoft-com:vml}imagedata"}
"""What refers to a picture's file, in DrawingML and in VML."""
_TEXT = {W + "txbxContent", A + "p"} | GRAPHICS | PICTURES
_FROM_EDGE = {"page", "leftMargin", "topMargin"}
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))(pt|in|cm|mm|pc|px|)")
_UNITS = {"pt": 1.0, "in": 72.0, "cm": 72 / 2.54, "mm": 7.2 / 2.54, "pc": 12.0, "px": 0.75, "": 0.75}
_FALSE = {"f", "false", "0"}
_OLD_SHAPES = {"shape", "rect", "roundrect", "oval", "group", "line", "polyline", "arc", "curve", "image"}
_OLD_STYLE = re.compile(
    r"position|margin-(left|top|right|bottom)|left|top|right|bottom|width|height|z-index|visibility|display|rotation|"
    r"mso-(hide|wrap-(style|distance-\w+|edited)|position-\w+(-relative)?|width-(percent|relative)|height-(percent|relative)|"
    r"left-percent|top-percent|fit-shape-to-text|next-textbox|direction-alt|layout-flow-alt|element-\w+)|flip|"
    r"v-text-(anchor|kern|align)|layout-flow|text-align|font-(family|size|weight|style)|v-rotate-letters|v-same-letter-heights"
)
_LINE, _LETTER = 12.0, 50.0  # points and square points that a line and a letter of usual text take


@dataclass(frozen=True)
class Drawn:
    """An element that holds text in a drawing: how that is hidden, if it is, the colour behind it, what may hide it."""

    element: etree._Element
    hides: str | None
    behind: Colour
    doubt: str = ""


@dataclass(frozen=True)
class _Place:
    """The surroundings of a text: whether they are shown, what is behind it and behind the whole drawing, what doubts
    it. `size` is that of the drawing in points."""

    shown: bool
    behind: Colour
    paper: Colour
    doubt: str = ""
    size: tuple[float, float] | None = None
    in_group: bool = False


class Boxes:
    """Finds what holds text in drawings, on pages of one size. `alone`: no two drawings of the document may overlap."""

    def __init__(self, theme: Theme, page: Page, *, alone: bool) -> None:
        self._theme = theme
        self._page = page
        self._alone = alone

    def found(self, drawing: etree._Element, behind: Colour) -> list[Drawn]:
        """Text boxes, paragraphs of DrawingML, charts, diagrams and word art in a drawing, with `behind` behind it."""
        return list(self._found(drawing, _Place(True, UNKNOWN, behind)))

    def _found(self, element: etree._Element, place: _Place) -> Iterator[Drawn]:
        for name, child in children(element):
            hides = None if place.shown else "marked_hidden"
            if child.tag in _TEXT:
                doubt = place.doubt or ("a box too small for its text" if _overflows(child, place.size) else "")
                yield Drawn(child, hides, place.behind, doubt)
            elif name == "textpath":
                yield Drawn(child, hides or _word_art(child, place.behind), place.behind, place.doubt)
            elif name in {"anchor", "inline"}:
                yield from self._found(child, self._anchored(child, name == "anchor", place))
            elif name in {"wsp", "wgp", "grpSp"}:
                yield from self._found(child, self._shape(child, name != "wsp", place))
            elif name == "textbox" and _is_marked(_style(child)):
                yield from self._found(child, replace(place, shown=False))
            elif name in _OLD_SHAPES:
                yield from self._found(child, self._old_shape(child, name == "group", place))
            else:
                yield from self._found(child, place)

    def _anchored(self, anchor: etree._Element, floats: bool, place: _Place) -> _Place:
        """The place of a drawing (wp:anchor, wp:inline); one in the line lies where the text does."""
        shown = all(one.get("hidden") not in TRUE for one in anchor.iterchildren("{*}docPr"))
        extent, doubt = anchor.find("{*}extent"), ""
        size = None if extent is None else (_emu(extent.get("cx")) or 0.0, _emu(extent.get("cy")) or 0.0)
        behind = place.paper if self._alone or not floats else UNKNOWN
        simple = anchor.find("{*}simplePos") if anchor.get("simplePos") in TRUE else None
        for way, name in enumerate(("positionH", "positionV") if floats else ()):
            position = anchor.find("{*}" + name)
            from_page = position is not None and position.get("relativeFrom") in _FROM_EDGE
            offset = None if position is None else position.find("{*}posOffset")
            at = _emu((offset.text or "").strip()) if offset is not None else None
            if simple is not None:
                at, from_page = _emu(simple.get("xy"[way])), True
            odd = position is not None and offset is None and position.find("{*}align") is None
            if odd or not self._page.shows(way, at, None if size is None else size[way], from_page):
                doubt = "the place of a drawing"
        grows = next(anchor.iter(A + "spAutoFit"), None) is not None  # as large as its text needs
        if size is not None and min(size) <= SLIVER and not grows:
            doubt = "a drawing of no size"
        return _Place(shown, behind, behind, doubt, None if grows else size)

    def _shape(self, shape: etree._Element, is_group: bool, place: _Place) -> _Place:
        """A shape or a group of them: its fill, and what may hide it."""
        shown = place.shown and all(one.get("hidden") not in TRUE for one in shape.iterchildren("{*}cNvPr"))
        doubt = place.doubt or doubt_of_shape(shape) or next(map(doubt_of_body, shape.iterchildren("{*}bodyPr")), "")
        if (place.in_group and not is_group) or is_group:
            doubt = doubt or doubt_of_group(shape)
        if is_group:
            return _Place(shown, UNKNOWN, UNKNOWN, doubt, None, True)
        return replace(place, shown=shown, behind=over(shape_fill(shape, self._theme), place.behind), doubt=doubt)

    def _old_shape(self, shape: etree._Element, is_group: bool, place: _Place) -> _Place:
        """A shape of VML by its style."""
        style = _style(shape)
        floats = style.get("position") == "absolute"
        behind = place.paper if (self._alone or not floats) and not is_group else UNKNOWN
        doubt = place.doubt or next((name for name in style if name and not _OLD_STYLE.fullmatch(name)), "")
        grows = "mso-fit-shape-to-text:t" in "".join(one.get("style", "") for one in shape.iterchildren("{*}textbox"))
        sides = (("width", ("margin-left", "left"), "horizontal"), ("height", ("margin-top", "top"), "vertical"))
        for way, (side, names, axis) in enumerate(() if place.in_group else sides):
            size = None if grows and way == 1 else _length(style.get(side))
            moves = floats and style.get(f"mso-position-{axis}", "absolute") == "absolute"
            at = _length(style.get(names[0], style.get(names[1], "0"))) if moves else None
            from_page = style.get(f"mso-position-{axis}-relative", "text") == "page"
            if (moves and at is None) or not self._page.shows(way, at, size, from_page):
                doubt = doubt or "the place of a drawing"
        return _Place(
            place.shown and not _is_marked(style), over([] if is_group else _old_fill(shape), behind), UNKNOWN, doubt,
            None, is_group or place.in_group,
        )  # fmt: skip


def _overflows(text: etree._Element, size: tuple[float, float] | None) -> bool:
    """Whether a box of a size in points has far too little room for a text (w:txbxContent)."""
    if size is None or text.tag != W + "txbxContent":
        return False
    letters = sum(len(one.text or "") for one in text.iter(W + "t"))
    lines = sum(1 for _ in text.iter(W + "p", W + "br"))
    return letters * _LETTER > 2 * size[0] * size[1] or lines * _LINE > 2 * size[1] + _LINE


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
    value, share = str(said.get("color") or shape.get("fillcolor", "white")), str(said.get("opacity", "1"))
    colour = colour_of(value.partition("[")[0].strip().lower())
    try:  # "0.5", "50%" or "32768f"
        opacity = float(share.rstrip("f%")) * {"f": 1 / 65_536, "%": 0.01}.get(share[-1:], 1.0)
    except ValueError:
        opacity = 1.0
    return [Paint(colour if isinstance(colour, tuple) else None, min(max(opacity, 0.0), 1.0))]


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
