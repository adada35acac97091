"""A slide as it is drawn, shape over shape, and what of it a person sees: shapes by their places, text by its letters.

A shape later in the tree is drawn over those before it; those of the master and of the layout come first. What is
behind a text is known where it stands wholly on a rectangle of one colour, or on nothing but the background.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.drawing.slide_styles import USUAL_NAMES, A, SlideStyles
from pipeline.parse.office.drawing.theme import (
    UNCLEAR,
    UNKNOWN,
    Fill,
    Theme,
    over,
    own_fill,
    shape_fill,
    styled_fill,
)
from pipeline.parse.office.drawing.view import EMU, SHAPES, View, doubt_of_group, doubt_of_shape, is_turned
from pipeline.parse.office.package import children
from pipeline.parse.sight.colours import WHITE, Colour, Paint
from pipeline.parse.sight.look import EDGE, Appearance, Box, holds, overlap

_RECTANGLES = {"rect", "roundRect", "flowChartProcess"}
_COMPARED = 2_000_000  # pairs of shapes, beyond which nothing is known of what lies over what
_OVER = 9.0  # points by which shapes may lie over one another, less than a line
_USUAL, _LARGE = 18.0, 32.0  # points: the size of letters that say none, in shapes and in placeholders
_WIDE, _HIGH = 0.55, 1.25  # of the size of letters: how wide they are, and how high their lines
_LINE = 12.0  # points: the least height of a line of usual text
Layer = tuple[etree._Element, Theme]
"""An element of a part (a slide, a layout, a master), under which shapes lie, and its theme."""


@dataclass
class Shape:
    """A shape that is drawn: its box in points, its fill, whether that fills the box, and what is behind its text.

    `hides` is how it is hidden, `doubt` what may hide it in a way that is not computed.
    """

    element: etree._Element
    box: Box | None
    fill: Fill
    whole: bool
    hides: str | None
    doubt: str
    behind: Colour = UNKNOWN

    def lies_over(self, words: Box | None) -> bool:
        """Whether the shape may hide words in a box by more than their edges; of a table, which programs push over
        lists, half of them."""
        if self.box is None or words is None:
            return True
        x, y, width, height = words
        if next(self.element.iter(A + "tbl"), None) is None:
            inner = x + _OVER, y + _OVER, max(width - 2 * _OVER, 1.0), max(height - 2 * _OVER, 1.0)
            return overlap(inner, self.box)
        sides = (
            min(words[way] + words[way + 2], self.box[way] + self.box[way + 2]) - max(words[way], self.box[way])
            for way in (0, 1)
        )
        return math.prod(max(side, 0.0) for side in sides) > width * height / 2


class Scene:
    """All shapes of a slide before a background."""

    def __init__(self, view: View, background: Colour, layers: list[Layer], styles: SlideStyles) -> None:
        self._styles = styles
        self._background = background
        self._view = view
        shapes = [shape for tree, theme in layers for shape in self._drawn(theme, tree, view, "")]
        self._shapes = {shape.element: shape for shape in shapes}
        filled = [(place, shape) for place, shape in enumerate(shapes) if shape.fill]
        texts = [(place, shape) for place, shape in enumerate(shapes) if _has_text(shape.element)]
        for place, shape in texts if len(filled) * len(texts) <= _COMPARED else ():
            below = self._under(shape.box, [one for number, one in filled if number < place])
            shape.behind = below if local_name(shape.element.tag) == "graphicFrame" else over(shape.fill, below)
            words = self._words_box(shape)
            if any(one.lies_over(words) for number, one in filled if number > place):
                shape.doubt = shape.doubt or "a shape over it"

    def hides(self, element: etree._Element) -> str | None:
        """How a shape or a group is hidden with all that it holds, if it is."""
        shape = self._shapes.get(element)
        return shape.hides if shape else None

    def look(self, paragraph: etree._Element, run: etree._Element) -> Appearance:
        """The look of a run (a:r) of a paragraph."""
        element = next(paragraph.iterancestors("{*}sp", "{*}graphicFrame"), None)
        shape = None if element is None else self._shapes.get(element)
        if element is None or shape is None:
            return Appearance(doubt="a text outside of shapes")
        return self._styles.look(element, paragraph, run, shape.behind, shape.doubt)

    def _words_box(self, shape: Shape) -> Box | None:
        """The part of a shape's box in which its words stand at most, by the usual size of letters."""
        element, box = shape.element, shape.box
        family = [element, *self._styles.origins(element)]
        bodies = [body for one in family for body in one.iterfind(f"{{*}}txBody/{A}bodyPr")]
        if box is None or is_turned(element) or any(one.get("vert", "horz") != "horz" for one in bodies):
            return box
        x, y, width, height = box
        said = [whole_number(one.get("sz"), 0) / 100 for one in element.iter(A + "rPr")]
        size = max((one or (_LARGE if len(family) > 1 else _USUAL) for one in said), default=_LARGE)
        texts = ["".join(one.text or "" for one in words.iter(A + "t")) for words in element.iter(A + "p")]
        lines = sum(1 + len(text) * size * _WIDE // max(width, 1.0) for text in texts)
        lines += sum(1 for _ in element.iter(A + "br"))
        needed = min(height, lines * size * _HIGH + size)
        anchor = next((one.get("anchor", "") for one in bodies if one.get("anchor")), "t")
        top = {"t": 0.0, "ctr": (height - needed) / 2, "b": height - needed}.get(anchor)
        return box if top is None else (x, y + top, width, needed)

    def _drawn(self, theme: Theme, tree: etree._Element, view: View, doubt: str) -> Iterator[Shape]:
        for name, child in children(tree):
            if name not in SHAPES:
                yield from self._drawn(theme, child, view, doubt) if len(child) and name != "timing" else ()
                continue
            lies = view.appearance(child)
            if lies.box is None:
                lies = replace(lies, box=self._styles.place(child))
            fill, whole = self._fill(theme, child, name)
            own = doubt or self._doubt(child, lies.box)
            yield Shape(child, lies.box, [] if lies.hides else fill, whole, lies.hides, own)
            if name == "grpSp" and not lies.hides:
                yield from self._drawn(theme, child, view.inside(name, child), own)

    def _doubt(self, element: etree._Element, box: Box | None) -> str:
        """What of a shape may hide its text in a way that is not computed: its properties, its place, its size."""
        found = next(filter(None, map(doubt_of_shape, (element, *self._styles.origins(element)))), "")
        found = found or doubt_of_group(element)
        if found or box is None or math.isinf(self._view.height):
            return found
        x, y, width, height = box
        slide = self._view.width / EMU, self._view.height / EMU
        if not (0 < x + width / 2 < slide[0] and 0 < y + height / 2 < slide[1]):
            return "a place beyond the slide"
        lines = sum(1 for _ in element.iter(A + "p", A + "br")) if local_name(element.tag) == "sp" else 0
        return "text beyond the slide" if lines * _LINE > max(2 * height, slide[1] - y) else ""

    def _fill(self, theme: Theme, element: etree._Element, name: str) -> tuple[Fill, bool]:
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
        fills = (shape_fill(one, theme) for one in family)
        fill = next((one for one in fills if one is not None), None)
        return fill or [], straight and form is not None and form.get("prst") in _RECTANGLES

    def _under(self, box: Box | None, below: list[Shape]) -> Colour:
        """The colour behind a box; UNKNOWN where it stands on more than one thing."""
        colour = self._background
        for shape in below:
            if box is None or shape.box is None:
                return UNKNOWN
            if overlap(box, shape.box):
                colour = over(shape.fill, colour) if shape.whole and holds(shape.box, box, EDGE) else UNKNOWN
        return colour


def background(layers: list[Layer]) -> Colour:
    """The colour of a slide's background: its own, its layout's or its master's; white where none says one.

    Where a slide gives other names to colours than its master, programs differ.
    """
    for tree, theme in layers:
        found = tree.find("{*}cSld/{*}bg")
        if found is not None:
            properties, reference = found.find("{*}bgPr"), found.find("{*}bgRef")
            fills = (
                own_fill(properties, one) if reference is None else styled_fill(reference, one)
                for one in (theme, layers[0][1])
            )
            colours = {over(fill, UNKNOWN) for fill in fills}
            return colours.pop() if len(colours) == 1 else UNKNOWN
    return WHITE


def _has_text(element: etree._Element) -> bool:
    return local_name(element.tag) in {"sp", "graphicFrame"} and next(element.iter(A + "t"), None) is not None


def sheet_scene(tree: etree._Element, theme: Theme) -> Scene:
    """The shapes that lie on a sheet, which has no edges and whose cells may have any colour behind them."""
    view, theme = View(math.inf, math.inf), theme.renamed(USUAL_NAMES)
    return Scene(view, UNKNOWN, [(tree, theme)], SlideStyles([tree], theme, tree, view))
