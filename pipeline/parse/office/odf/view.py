"""Where shapes of OpenDocument lie on their page, and which of them nobody sees (ODF 1.3, part 3, 10.3 and 19.575)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from pipeline.parse.office.odf.document import attribute, full, name_of, named
from pipeline.parse.office.odf.styles import Looks, Styles, length, master_pages
from pipeline.parse.sight.colours import WHITE, Colour, colour_of
from pipeline.parse.sight.look import Appearance, Box, holds, overlap

_GRAPHIC = "style:graphic-properties"
_LAYOUT = "style:page-layout-properties"
_MOST = 500  # shapes of a page that are compared with each other
_PAINTED = {"draw:image", "draw:object", "draw:object-ole", "draw:plugin", "table:table"}
_OVER = 9.0  # points by which shapes may lie over one another, less than a line
_EDGE, _NEAR = 72.0, 15.0  # points by which a place may lie before the edge of a page, and before its far one
_SHAPE = re.compile(
    r"(id|name|style-name|text-style-name|layer|[xy]|[xy][12]|width|height|z-index|anchor-(type|page-number)|class|"
    r"user-transformed|placeholder|rel-(width|height)|control|caption-(id|point-[xy])|corner-radius|viewBox|points|d|"
    r"end-cell-address|end-[xy]|table-background|copy-of|kind|type|start-(shape|glue-point|angle)|end-(shape|glue-point|angle)|"
    r"line-skew|title|chain-next-name|min-(width|height))$"
)


@dataclass(frozen=True)
class Page:
    """A page of a size in points, and the shapes on it. `flows`: places are relative to paragraphs of a text.

    Each shape has its box, and what it is filled with ("" for nothing, None for what is no plain colour).
    """

    width: float | None = None
    height: float | None = None
    ground: Colour | None = None
    flows: bool = False
    layers: frozenset[str] = frozenset()  # that are not shown
    shapes: tuple[tuple[etree._Element, Box, Colour | None], ...] = ()

    def hides(self, shape: etree._Element) -> str | None:
        """How a shape is hidden (a kind of hidden.KINDS), if it is."""
        if attribute(shape, "draw:layer") in self.layers:
            return "marked_hidden"
        box = placed(shape)
        if self.flows or box is None or self.width is None or self.height is None:
            return None
        # Text may reach out of shapes that are too small.
        clip = (0.0, 0.0, self.width, self.height)
        return Appearance(box=(*box[:2], max(box[2], 1.0), max(box[3], 1.0)), clip=clip).hides

    def doubts(self, shape: etree._Element) -> str:
        """What of a shape's place may hide it in a way that is not computed; "" for nothing."""
        odd = [one for key in shape.attrib if not _SHAPE.match(one := str(key).rpartition("}")[2])]
        box = placed(shape)
        if odd or box is None or self.width is None or self.height is None:
            return odd[0] if odd else ""
        x, y, width, height = box
        if not -_EDGE <= x <= self.width - _NEAR or not -_EDGE <= y <= self.height - _NEAR:
            return "its place"
        inner = (x + _OVER, y + _OVER, width - 2 * _OVER, height - 2 * _OVER)  # more than edges in common
        later = False
        for other, around, fill in self.shapes:
            if later and fill != "" and overlap(inner, around):
                return "a shape over it"
            later = later or other is shape
        return ""

    def behind(self, shape: etree._Element) -> Colour | None:
        """The colour behind a shape: that of the shape under all of it, else the page's; None where that is not one."""
        box, under = placed(shape), self.ground
        for other, around, fill in self.shapes:
            if other is shape:
                break
            if fill != "" and (box is None or overlap(box, around)):
                under = fill if box is not None and holds(around, box, _OVER) else None
        return under


def text_page(common: etree._Element) -> Page:
    """The pages of a text: the size of the largest, and white where all of them are."""
    layouts = [said for one in named(common, "style:page-layout") for said in one.iterchildren(full(_LAYOUT))]
    sizes = [[length(attribute(one, f"fo:page-{side}")) or 0.0 for side in ("width", "height")] for one in layouts]
    width, height = (max((size[side] for size in sizes), default=0.0) or None for side in (0, 1))
    plain = all(
        attribute(one, "fo:background-color").lower() in {"", "transparent", "#ffffff"}
        and attribute(one, "draw:fill") in {"", "none"}
        and one.find("{*}background-image") is None
        for one in layouts
    )
    return Page(width, height, WHITE if plain else None, flows=True)


def slide_page(styles: Styles, looks: Looks, common: etree._Element, slide: etree._Element) -> Page:
    """A slide: its size, its ground, and the shapes on it and behind it."""
    name = attribute(slide, "draw:master-page-name")
    master = next((one for one in master_pages(common) if attribute(one, "style:name") == name), None)
    behind = [] if master is None else [one for one in master if not attribute(one, "presentation:class")]
    shapes = [
        # No plain colour: pictures and what is not known.
        (one, box, None if _is_painted(one) else looks.fill(*style_of(one), "", flows=False))
        for one in list(_shapes([*behind, *slide]))[:_MOST]
        if (box := placed(one)) is not None
    ]
    layout = "" if master is None else attribute(master, "style:page-layout-name")
    layouts = (one for one in named(common, "style:page-layout") if attribute(one, "style:name") == layout)
    size = next((said for one in layouts if master is not None for said in one.iterchildren(full(_LAYOUT))), None)
    width, height = (
        None if size is None else length(attribute(size, f"fo:page-{side}")) for side in ("width", "height")
    )
    off = [one for one in named(common, "draw:layer") if attribute(one, "draw:display") in {"none", "printer"}]
    hidden = frozenset(attribute(one, "draw:name") for one in off)
    ground: Colour | None = WHITE
    for one in (slide, master):
        fill, colour = (
            styles.value("drawing-page", attribute(one, "draw:style-name"), "style:drawing-page-properties", wanted)
            if one is not None else None
            for wanted in ("draw:fill", "draw:fill-color")
        )  # fmt: skip
        if fill not in {None, "none"}:
            ground = colour_of(colour.lower()) if fill == "solid" and colour else None
            break
    return Page(width, height, ground, layers=hidden, shapes=tuple(shapes))


def _shapes(holder: Iterable[etree._Element]) -> Iterable[etree._Element]:
    for one in holder:
        if name_of(one.tag) == "draw:g":
            yield from _shapes(one)
        elif name_of(one.tag).startswith("draw:"):
            yield one


def _is_painted(shape: etree._Element) -> bool:
    return any(name_of(child.tag) in _PAINTED for child in shape)


def style_of(shape: etree._Element) -> tuple[str, str]:
    """The family and the name of a shape's style."""
    name = attribute(shape, "presentation:style-name")
    return ("presentation", name) if name else ("graphic", attribute(shape, "draw:style-name"))


def placed(shape: etree._Element) -> Box | None:
    """x, y, width and height in points; None where no place is said."""
    x, y, width, height = (length(attribute(shape, f"svg:{one}")) for one in ("x", "y", "width", "height"))
    return None if x is None or y is None else (x, y, width or 0.0, height or 0.0)


def lies_over(body: etree._Element, styles: Styles) -> bool:
    """Whether a shape of a text may lie over the text that it stands in."""
    for shape in body.iter():
        name = name_of(str(shape.tag))
        if not name.startswith("draw:") or attribute(shape, "text:anchor-type") in {"", "as-char"}:
            continue
        family, style = style_of(shape)
        wrap, through, fill = (
            styles.value(family, style, _GRAPHIC, wanted) for wanted in ("style:wrap", "style:run-through", "draw:fill")
        )
        is_frame = name in {"draw:frame", "draw:control"}
        painted = fill not in {None, "none"} or _is_painted(shape)
        over = (wrap or ("none" if is_frame else "run-through")) == "run-through" and through != "background"
        if over and (painted or (fill is None and not is_frame)):
            return True
    return False
