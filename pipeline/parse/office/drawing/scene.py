"""A slide as it is drawn, shape over shape, and what of it a person sees: shapes by their places, text by its letters.

A shape later in the tree is drawn over those before it; those of the master and of the layout come first. What is
behind a text is known where it stands wholly on a rectangle of one colour, or on nothing but the background.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree

from pipeline.parse.markup.reading import local_name
from pipeline.parse.office.drawing.slide_styles import USUAL_NAMES, A, SlideStyles
from pipeline.parse.office.drawing.theme import (
    UNCLEAR,
    UNKNOWN,
    Fill,
    Theme,
    is_opaque,
    over,
    own_fill,
    shape_fill,
    styled_fill,
)
from pipeline.parse.office.drawing.view import SHAPES, Pictures, View, is_turned
from pipeline.parse.office.package import Package, children
from pipeline.parse.sight.colours import WHITE, Colour, Paint
from pipeline.parse.sight.look import EDGE, Box, holds, overlap

_RECTANGLES = {"rect", "roundRect", "flowChartProcess"}
_COMPARED = 2_000_000  # pairs of shapes, beyond which nothing is known of what lies over what


@dataclass
class Shape:
    """A shape that is drawn: its box in points, its fill, whether that fills the box, and what is behind its text."""

    part: str
    element: etree._Element
    box: Box | None
    fill: Fill
    whole: bool
    hides: str | None
    behind: Colour = UNKNOWN

    def covers(self, box: Box, pictures: Pictures) -> bool:
        """Whether the shape hides all that lies under it in a box."""
        if not self.whole or self.box is None or not holds(self.box, box, EDGE):
            return False
        is_picture = local_name(self.element.tag) == "pic"
        return pictures.is_opaque(self.part, self.element) if is_picture else is_opaque(self.fill)


@dataclass(frozen=True)
class Layer:
    """The shapes under an element of a part: a slide, a layout, a master."""

    part: str
    tree: etree._Element
    theme: Theme


class Scene:
    """All shapes of a slide before a background. What an animation shows or moves neither covers nor is covered."""

    def __init__(
        self, pictures: Pictures, view: View, background: Colour, layers: list[Layer], styles: SlideStyles
    ) -> None:
        self._pictures = pictures
        self._styles = styles
        self._background = background
        self._moving = {
            one.get("spid", "") for layer in layers for one in layer.tree.iterfind(".//{*}timing//{*}spTgt")
        }
        shapes = [shape for layer in layers for shape in self._drawn(layer, layer.tree, view)]
        self._stack(shapes)
        self._shapes = {shape.element: shape for shape in shapes}

    def hides(self, element: etree._Element) -> str | None:
        """How a shape or a group is hidden with all that it holds, if it is."""
        shape = self._shapes.get(element)
        return shape.hides if shape else None

    def hides_run(self, paragraph: etree._Element, run: etree._Element) -> str | None:
        """How a run (a:r) of a paragraph that is seen otherwise is hidden by its size or its colours."""
        element = next(paragraph.iterancestors("{*}sp", "{*}graphicFrame"), None)
        if element is None:
            return None
        shape = self._shapes.get(element)
        return self._styles.hides_run(element, paragraph, run, shape.behind if shape else UNKNOWN)

    def _drawn(self, layer: Layer, tree: etree._Element, view: View) -> Iterator[Shape]:
        for name, child in children(tree):
            if name not in SHAPES:
                yield from self._drawn(layer, child, view) if len(child) and name != "timing" else ()
                continue
            lies = view.appearance(child)
            if lies.box is None:
                lies = replace(lies, box=self._styles.place(child))
            number = next((one.get("id", "") for holder in child for one in holder.iterchildren("{*}cNvPr")), "")
            moves = number in self._moving
            hides = None if moves and lies.shown else lies.hides
            fill, whole = self._fill(layer, child, name)
            box = None if lies.box is None or moves else lies.box
            yield Shape(layer.part, child, box, [] if hides else fill, whole and not moves, hides)
            if name == "grpSp" and not hides:
                yield from self._drawn(layer, child, view.inside(name, child))

    def _fill(self, layer: Layer, element: etree._Element, name: str) -> tuple[Fill, bool]:
        """The fill of a shape, and whether it fills the shape's box; groups and lines have none of their own."""
        if name in {"grpSp", "cxnSp"}:
            return [], False
        straight = not is_turned(element)
        if name != "sp":
            return [UNCLEAR], name == "pic" and straight  # of a table or a chart parts may be filled
        if element.get("useBgFill") in {"1", "true"}:
            return [Paint(self._background if isinstance(self._background, tuple) else None)], False
        family = [element, *self._styles.origins(element)]
        forms = (one.find(f"{{*}}spPr/{A}prstGeom") for one in family)
        form = next((one for one in forms if one is not None), None)
        fills = (shape_fill(one, layer.theme) for one in family)
        fill = next((one for one in fills if one is not None), None)
        return fill or [], straight and form is not None and form.get("prst") in _RECTANGLES

    def _stack(self, shapes: list[Shape]) -> None:
        """Find what is behind and over each shape with text."""
        filled = [(place, shape) for place, shape in enumerate(shapes) if shape.fill]
        texts = [(place, shape) for place, shape in enumerate(shapes) if _has_text(shape.element)]
        if len(filled) * len(texts) > _COMPARED:
            return
        for place, shape in texts:
            below = [one for number, one in filled if number < place]
            own = [] if local_name(shape.element.tag) == "graphicFrame" else shape.fill
            shape.behind = over(own, self._under(shape.box, below))
            above = [one for number, one in filled if number > place]
            box = shape.box
            if shape.hides is None and box is not None and any(one.covers(box, self._pictures) for one in above):
                shape.hides = "covered"

    def _under(self, box: Box | None, below: list[Shape]) -> Colour:
        """The colour behind a box; UNKNOWN where it stands on more than one thing."""
        seen: list[Fill] = []
        for shape in reversed(below):
            if box is None or shape.box is None:
                return UNKNOWN
            if not overlap(box, shape.box):
                continue
            if not shape.whole or not holds(shape.box, box, EDGE):
                return UNKNOWN
            seen.append(shape.fill)
            if is_opaque(shape.fill):
                break
        colour = self._background if not seen or not is_opaque(seen[-1]) else UNKNOWN
        for fill in reversed(seen):
            colour = over(fill, colour)
        return colour


def background(trees: list[etree._Element], themes: list[Theme]) -> Colour:
    """The colour of a slide's background: its own, its layout's or its master's; white where none says one.

    Each of the trees has its theme; where a slide gives other names to colours than its master, programs differ.
    """
    for tree, theme in zip(trees, themes, strict=True):
        found = tree.find("{*}cSld/{*}bg")
        if found is not None:
            colours = {_backdrop(found, theme), _backdrop(found, themes[0])}
            return colours.pop() if len(colours) == 1 else UNKNOWN
    return WHITE


def _backdrop(element: etree._Element, theme: Theme) -> Colour:
    properties, reference = element.find("{*}bgPr"), element.find("{*}bgRef")
    fill = own_fill(properties, theme) if reference is None else styled_fill(reference, theme)
    return over(fill, UNKNOWN)


def _has_text(element: etree._Element) -> bool:
    return local_name(element.tag) in {"sp", "graphicFrame"} and next(element.iter(A + "t"), None) is not None


def sheet_scene(package: Package, part: str, tree: etree._Element, theme: Theme) -> Scene:
    """The shapes that lie on a sheet, which has no edges and whose cells may have any colour behind them."""
    view, theme = View(math.inf, math.inf), theme.renamed(USUAL_NAMES)
    styles = SlideStyles([tree], theme, tree, view)
    return Scene(Pictures(package), view, UNKNOWN, [Layer(part, tree, theme)], styles)
