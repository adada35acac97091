"""Where shapes of OpenDocument lie on their page, and which of them nobody sees (ODF 1.3, part 3, 10.3 and 19.575)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lxml import etree

from pipeline.parse.office.odf.document import attribute, full, name_of, named
from pipeline.parse.office.odf.styles import Looks, Styles, length, master_pages
from pipeline.parse.sight.colours import WHITE, Colour, colour_of
from pipeline.parse.sight.look import Appearance, Box, holds, overlap

_GRAPHIC = "style:graphic-properties"
_LAYOUT = "style:page-layout-properties"
_MOST = 500  # shapes of a page that are compared with each other


@dataclass(frozen=True)
class Page:
    """A page of a size in points, and the shapes on it: where they lie, and what they are filled with.

    `flows`: places are relative to paragraphs, anywhere on the page.
    """

    width: float | None = None
    height: float | None = None
    ground: Colour | None = None
    flows: bool = False
    layers: frozenset[str] = frozenset()  # that are not shown
    shapes: tuple[tuple[etree._Element, Box, Colour | None], ...] = field(default=())

    def hides(self, shape: etree._Element, styles: Styles) -> str | None:
        """How a shape is hidden (a kind of hidden.KINDS), if it is."""
        if attribute(shape, "draw:layer") in self.layers:
            return "marked_hidden"
        box = _placed(shape, styles)
        if box is None or self.width is None or self.height is None:
            return None
        clip = (0.0, 0.0, self.width, self.height)
        if self.flows and attribute(shape, "text:anchor-type") != "page":
            clip = (-self.width, -self.height, 2 * self.width, 2 * self.height)
        if self.flows and name_of(shape.tag) == "draw:frame":  # programs move it onto the page from the sides
            box = (0.0, box[1], self.width, box[3])
        # Text may reach out of shapes that are too small.
        seen = Appearance(box=(*box[:2], max(box[2], 1.0), max(box[3], 1.0)), clip=clip)
        return seen.hides or ("covered" if self._is_covered(shape, box) else None)

    def behind(self, shape: etree._Element, styles: Styles) -> Colour | None:
        """The colour behind a shape: the page's where no other shape lies there, else None."""
        box = _placed(shape, styles)
        if not self.shapes or (box is not None and not any(_meets(box, shape, one) for one in self.shapes)):
            return self.ground
        return None

    def _is_covered(self, shape: etree._Element, box: Box) -> bool:
        """Whether an opaque shape that comes later lies over all of it."""
        later = False
        for other, its, fill in self.shapes:
            if later and isinstance(fill, tuple) and holds(its, box):
                return True
            later = later or other is shape
        return False


def text_page(common: etree._Element) -> Page:
    """The pages of a text: the size of the largest, and white where all of them are."""
    layouts = [said for one in named(common, "style:page-layout") for said in one.iterchildren(full(_LAYOUT))]
    sizes = [[length(attribute(one, f"fo:page-{side}")) or 0.0 for side in ("width", "height")] for one in layouts]
    width, height = (max((size[side] for size in sizes), default=0.0) or None for side in (0, 1))
    plain = all(_is_plain(one) for one in layouts)
    return Page(width, height, WHITE if plain else None, flows=True)


def _is_plain(layout: etree._Element) -> bool:
    white = attribute(layout, "fo:background-color").lower() in {"", "transparent", "#ffffff"}
    return white and attribute(layout, "draw:fill") in {"", "none"} and layout.find("{*}background-image") is None


def slide_page(styles: Styles, looks: Looks, common: etree._Element, slide: etree._Element) -> Page:
    """A slide: its size, its ground, and the shapes on it and behind it."""
    name = attribute(slide, "draw:master-page-name")
    master = next((one for one in master_pages(common) if attribute(one, "style:name") == name), None)
    shapes = list(_shapes([*([] if master is None else master), *slide]))[:_MOST]
    placed = tuple(
        (shape, box, _painted(shape, looks)) for shape in shapes if (box := _placed(shape, styles)) is not None
    )
    width, height = _size(common, master)
    off = [one for one in named(common, "draw:layer") if attribute(one, "draw:display") in {"none", "printer"}]
    hidden = frozenset(attribute(one, "draw:name") for one in off)
    behind = [attribute(one, "draw:style-name") for one in (slide, master) if one is not None]
    return Page(width, height, _ground(styles, behind), layers=hidden, shapes=placed)


def _ground(styles: Styles, names: Iterable[str]) -> Colour | None:
    for name in names:
        fill, colour = (
            styles.value("drawing-page", name, "style:drawing-page-properties", wanted)
            for wanted in ("draw:fill", "draw:fill-color")
        )
        if fill == "solid" and colour:
            return colour_of(colour.lower())
        if fill not in {None, "none"}:
            return None
    return WHITE


def _size(common: etree._Element, master: etree._Element | None) -> tuple[float | None, float | None]:
    name = "" if master is None else attribute(master, "style:page-layout-name")
    for layout in named(common, "style:page-layout"):
        if attribute(layout, "style:name") == name:
            for said in layout.iterchildren(full(_LAYOUT)):
                return length(attribute(said, "fo:page-width")), length(attribute(said, "fo:page-height"))
    return None, None


def _shapes(holder: Iterable[etree._Element]) -> Iterable[etree._Element]:
    for one in holder:
        if name_of(one.tag) == "draw:g":
            yield from _shapes(one)
        elif name_of(one.tag).startswith("draw:"):
            yield one


def _painted(shape: etree._Element, looks: Looks) -> Colour | None:
    """The colour that fills a shape; None for pictures and what is not known, "" for no fill."""
    if any(name_of(child.tag) in {"draw:image", "draw:object", "draw:plugin"} for child in shape):
        return None
    return looks.fill(*style_of(shape), "", flows=False)


def style_of(shape: etree._Element) -> tuple[str, str]:
    """The family and the name of a shape's style."""
    name = attribute(shape, "presentation:style-name")
    return ("presentation", name) if name else ("graphic", attribute(shape, "draw:style-name"))


def _placed(shape: etree._Element, styles: Styles) -> Box | None:
    """x, y, width and height in points; None where it is turned, or placed by words."""
    if attribute(shape, "draw:transform"):
        return None
    ways = [styles.value(*style_of(shape), _GRAPHIC, f"style:{way}-pos") for way in ("horizontal", "vertical")]
    if not {"from-left", "from-inside", "from-top", None}.issuperset(ways):
        return None
    x, y, width, height = (length(attribute(shape, f"svg:{one}")) for one in ("x", "y", "width", "height"))
    if x is None or y is None:
        return None
    return x, y, 0.0 if width is None else width, 0.0 if height is None else height


def _meets(box: Box, shape: etree._Element, other: tuple[etree._Element, Box, Colour | None]) -> bool:
    element, its, fill = other
    return element is not shape and fill != "" and overlap(box, its)
