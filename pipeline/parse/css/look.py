"""How text looks at a place of a page: what an element's declarations make of the look around it.

Boxes are not laid out. A place is known as a shift from where the text would stand, in px.
"""

from dataclasses import dataclass, field, replace

from pipeline.parse.css.boxes import Box, box_of
from pipeline.parse.css.cascade import Values, Variables, keyword, number_of
from pipeline.parse.css.declarations import INHERITED, WIDE
from pipeline.parse.css.effects import UNMOVED, Recolour, Transform, blending, filters, is_cut_away, transform
from pipeline.parse.css.paint import UNKNOWN, Paint, background, edge, text_paint
from pipeline.parse.css.syntax import Measure, Value, font_size, read_value, split, word
from pipeline.parse.sight.colours import BLACK, Colour, alike
from pipeline.parse.sight.look import FAINTEST, SLIVER, Appearance, squeezed
from pipeline.parse.sight.raised import lowered, raised, struck
from pipeline.parse.sight.symbols import has_signs

POINTS = 0.75
"""Of a px."""
_REACH = 999.0
"""px: how far from its beginning text is believed to reach."""
_PAGE = (0.0, 0.0, 5000.0, 1e9)
"""px: where a page can be seen or scrolled to."""
_POINTS_OF_PAGE = (0.0, 0.0, _PAGE[2] * POINTS, _PAGE[3] * POINTS)
_INITIAL = {"visibility": "visible", "color": "canvastext", "font-size": "medium", "letter-spacing": "normal",
            "text-indent": "0", "white-space": "normal", "line-height": "normal", "fill": "#000",
            "text-shadow": "none", "font-family": "serif", "direction": "ltr",
            "-webkit-text-fill-color": "currentcolor"}  # fmt: skip
_SLIVER = SLIVER / POINTS
_LEVELS = {"sup": 1, "super": 1, "sub": -1}
_STRUCK = {"s", "strike", "del"}
_DECORATED = {"sup", "sub", *_STRUCK}
_DECORATING = frozenset(("vertical-align", "text-decoration-line", "font-variant-position", "top", "bottom"))
_CELLS = {"td", "th", "img", "table", "tr", "tbody", "thead", "tfoot"}  # aligned in their row or line
_NOTABLE = 0.2  # of the size of letters: a shift from which on text is raised or lowered
_SMALL = 0.85  # of the letters around: text that is smaller and stands at the top is raised


@dataclass(frozen=True)
class Look:
    """How text is drawn at a place, and what of its surroundings decides how elements in it are drawn.

    `clipped`: "" for not at all, "box" for a box out of which positioned elements reach, "all" for good. `recolours`
    are filters from the outermost in; the first `below` of them change the background, too. `counted`: the text here
    is part of hidden text that was counted already. `backed`: something opaque lies behind it that negative layers
    (z-index) are below of; `sunk`: it is in one of these. `items`: elements in it are laid out as boxes (flex, grid).
    `flow`: how the text of the element stands to what is around it (as in boxes.Box). `level`: 1 for raised, -1 for
    lowered text. `struck`: a line is drawn through it. `font`: the symbol font that it is in, "" for all others.
    `turned`: all its letters are drawn from right to left, which is the direction (`rtl`) that is set.
    """

    shown: bool = True
    size: float = 16.0
    colour: Paint = UNKNOWN
    fill: Paint | None = None
    edge: Paint | None = None
    background: Colour | None = None
    opacity: float = 1.0
    place: Transform = UNMOVED
    indent: float = 0.0
    spacing: float = 0.0
    line: float | None = None
    unbroken: bool = False
    blurred: float = 0.0
    clipped: str = ""
    covered: bool = False
    backed: bool = False
    sunk: bool = False
    recolours: tuple[Recolour, ...] = ()
    below: int = 0
    counted: bool = False
    items: bool = False
    flow: str = ""
    drawing: bool = False
    quirks: bool = False
    level: int = 0
    struck: bool = False
    font: str = ""
    rtl: bool = False
    turned: bool = False
    declared: Values = field(default_factory=dict)
    variables: Variables = field(default_factory=lambda: Variables({}))

    @property
    def hides(self) -> str | None:
        """The kind of hidden text that text of its own is here, None if it can be seen."""
        return None if self.counted else self.appearance.hides

    @property
    def gone(self) -> str | None:
        """The kind of hidden text that all text in it is, whatever elements in it declare."""
        if self.opacity <= FAINTEST or self._is_blurred:
            return "invisible"
        if min(abs(self.place.x_scale), abs(self.place.y_scale)) == 0:
            return "tiny"
        return "clipped" if self.clipped == "all" else None

    @property
    def appearance(self) -> Appearance:
        """This look in the terms of all formats, with lengths in points."""
        (colour, alpha), behind = self.fill or self.colour, self._recoloured(self.background, self.below)
        colour = self._recoloured(colour, len(self.recolours))
        rim = self.edge
        if rim is not None and rim[1] > FAINTEST and (alpha <= FAINTEST or alike(colour, behind)):
            colour, alpha = self._recoloured(rim[0], len(self.recolours)), rim[1]
        x_scale, y_scale = abs(self.place.x_scale), abs(self.place.y_scale)
        left = self.place.left + min(0.0, self.indent)
        return Appearance(
            shown=self.shown,
            colour=colour,
            background=behind,
            opacity=0.0 if self._is_blurred else self.opacity * alpha,
            size=self.size * y_scale * POINTS,
            stretch=squeezed(self.spacing, self.size) * (x_scale / y_scale if y_scale else 1.0),
            box=(left * POINTS, self.place.top * POINTS, _REACH * POINTS, _REACH * POINTS),
            clip=(0.0, 0.0, 0.0, 0.0) if self.clipped else _POINTS_OF_PAGE,
            covered=self.covered or self.sunk,
        )

    @property
    def _is_blurred(self) -> bool:
        return 0 < self.size <= self.blurred

    def _recoloured(self, colour: Colour | None, count: int) -> Colour | None:
        for recolour in reversed(self.recolours[:count]):
            colour = recolour(colour)
        return colour

    def settled(self, values: Values) -> Values:
        """The declared values with `inherit`, `initial` and the like resolved; what is not in it is inherited."""
        found: Values = {}
        for name, value in values.items():
            wide = word(value)
            if wide not in WIDE:
                if value:
                    found[name] = value
            elif wide == "inherit" and name not in INHERITED and name in self.declared:
                found[name] = self.declared[name]
            elif wide == "initial" and name in _INITIAL:
                found[name] = read_value(_INITIAL[name])
        return found

    def inside(self, tag: str, values: Values, variables: Variables, *, unknown: bool) -> "Look":
        """The look inside an element with settled values; `unknown`: rules that were not read may set its colours."""
        if not values and not unknown and variables is self.variables:
            usual = not (self.items or self.flow or self.declared)
            return self if usual else replace(self, items=False, flow="apart" if self.items else "", declared={})
        size = self._size(values)
        box = box_of(tag, values, size, laid_out=self.items, quirks=self.quirks)
        text = self._text(values, size, box, unknown)
        return text._boxed(values, box, self, variables) if values else replace(text, variables=variables)

    def decorated(self, tag: str, values: Values, outer: "Look") -> "Look":
        """This look of an element in `outer`, raised, lowered or struck out where its tag or its values say so."""
        if tag not in _DECORATED and _DECORATING.isdisjoint(values):
            return self
        lines = {word((token,)) for token in values.get("text-decoration-line", ())}
        struck = "line-through" in lines or (tag in _STRUCK and "text-decoration-line" not in values)
        return replace(
            self, level=_level(tag, values, self.size, outer.size) or self.level, struck=self.struck or struck
        )

    def signed(self, text: str) -> str:
        """Text of this look, wrapped where the writer has to mark it."""
        text = struck(text) if self.struck else text
        return raised(text) if self.level > 0 else lowered(text) if self.level < 0 else text

    def _size(self, values: Values) -> float:
        value = values.get("font-size", ())
        size = font_size(value, self.size, Measure(self.size, self.size, self.quirks)) if value else None
        return self.size if size is None and not value else 16.0 if size is None else max(0.0, size)

    def _text(self, values: Values, size: float, box: Box, unknown: bool) -> "Look":
        """This look with what an element's values change in what its text inherits; `size` is its font's in px."""
        measure = Measure(size, None, self.quirks)
        visibility, indent = keyword(values, "visibility"), values.get("text-indent", ())
        spacing = values.get("letter-spacing", ())
        outer = UNKNOWN if unknown else self.colour
        colour, fill = text_paint(values, outer, drawing=self.drawing)
        rtl = keyword(values, "direction") == "rtl" if "direction" in values else self.rtl
        order = keyword(values, "unicode-bidi")
        return replace(
            self,
            rtl=rtl,
            turned=rtl if order.endswith("override") else self.turned and order in {"", "normal"},
            shown=visibility not in {"hidden", "collapse"} if visibility else self.shown,
            size=size,
            colour=colour,
            fill=fill if fill is not None else None if unknown else self.fill,
            edge=edge(values, colour) if {"text-shadow", "-webkit-text-stroke"} & set(values) else self.edge,
            background=None if unknown else self.background,
            indent=(measure.length(indent[:1]) or 0.0) if indent and box.is_block else self.indent,
            spacing=(measure.length(spacing) or 0.0) if spacing else self.spacing,
            line=_line(values, size) if "line-height" in values else self.line,
            unbroken=keyword(values, "white-space") in {"nowrap", "pre"} if "white-space" in values else self.unbroken,
            font=_symbol_font(values["font-family"]) if "font-family" in values else self.font,
            items=False,
            flow=box.flow,
            declared={},
        )

    def _boxed(self, values: Values, box: Box, outer: "Look", variables: Variables) -> "Look":
        """This look with what the box of the element changes, for its text and for all elements in it."""
        own, filtered, blur = filters(values.get("filter", ()) if box.exists else ())
        opacity = own * (_share(values, "opacity") if box.exists else 1.0)
        behind = self._recoloured(outer.background, outer.below)
        blend = blending(keyword(values, "mix-blend-mode"), behind) if box.exists else None
        recolours = (*outer.recolours, *([blend] if blend else []), *reversed(filtered))
        colour, opaque = background(values, self.background, self.colour) if box.exists else (self.background, False)
        lettered = keyword(values, "background-clip") == "text"
        isolated = opacity < 1 or bool({"transform", "filter", "isolation"} & set(values)) or box.layer is not None
        painted = bool({"background-color", "background-image"} & set(values)) and not lettered
        look = replace(
            self,
            background=self.background if lettered else colour,
            below=len(recolours) if painted and colour != self.background else outer.below,
            recolours=recolours,
            opacity=outer.opacity * opacity,
            blurred=max(outer.blurred, blur),
            place=self._placed(values, box, outer),
            clipped=self._cut(values, box, outer),
            sunk=outer.sunk or (outer.backed and box.layer is not None and box.layer < 0),
            backed=not isolated and (outer.backed or opaque),
            items=box.items,
            declared=values,
            variables=variables,
        )
        clear = (look.fill or look.colour)[1] <= FAINTEST
        return replace(look, fill=(colour, 1.0)) if lettered and clear else look

    def _placed(self, values: Values, box: Box, outer: "Look") -> Transform:
        # What is fixed has the same scale, but no shift, as it stands where the window begins.
        begin = outer.place._replace(left=0.0, top=0.0) if box.position == "fixed" else outer.place
        zoom = number_of(values, "zoom") or 1.0
        place = begin.inside(Transform(zoom, zoom, box.left, box.top))
        return place.inside(transform(values, self.size)) if box.is_block else place

    def _cut(self, values: Values, box: Box, outer: "Look") -> str:
        """The new value of `clipped`, by the clipping of the element itself and of what is around it."""
        if outer.clipped == "all" or not box.exists:
            return outer.clipped
        if is_cut_away(values, self.size, placed=box.position in {"absolute", "fixed"}):
            return "all"
        flat = self.line is not None and self.line <= _SLIVER and box.may_be_flat
        aside = self.unbroken and box.overflow_hidden and _is_far(values)
        if box.is_cut or (box.overflow_hidden and flat) or aside:
            return "all" if box.position != "static" or "transform" in values else "box"
        return "" if outer.clipped and box.position in {"absolute", "fixed"} else outer.clipped


def _level(tag: str, values: Values, size: float, around: float) -> int:
    """1 for text that is raised out of its line, -1 for lowered text, else 0; sizes of letters in px."""
    align = values.get("vertical-align", ())
    for name in (tag, word(align), keyword(values, "font-variant-position")):
        if name in _LEVELS:
            return _LEVELS[name]
    if tag in _CELLS:
        return 0
    if size < _SMALL * around and word(align) in {"top", "text-top"}:
        return 1
    measure = Measure(size, size)
    shift = measure.length(align) or 0.0
    if keyword(values, "position") == "relative":
        top, bottom = (measure.length(values.get(name, ())) for name in ("top", "bottom"))
        shift += -top if top is not None else bottom or 0.0
    return 0 if abs(shift) < _NOTABLE * size or abs(shift) > 2 * around else 1 if shift > 0 else -1


def _symbol_font(families: Value) -> str:
    """The first of the families if it is a symbol font, else ""."""
    first = next(iter(split(families)), ())
    name = " ".join(token.serialize() for token in first)
    return name if has_signs(name) else ""


def _line(values: Values, size: float) -> float | None:
    """The height of lines in px, None where it is usual."""
    token = values["line-height"][0]
    if token.type == "number":
        return float(token.value) * size
    return Measure(size, size).length((token,))


def _share(values: Values, name: str) -> float:
    """A number from 0 to 1, which is 1 where nothing is said."""
    found = number_of(values, name)
    return 1.0 if found is None else max(0.0, min(1.0, found))


def _is_far(values: Values) -> bool:
    """Whether the first line of a box begins beyond its end."""
    token = values["text-indent"][0] if "text-indent" in values else None
    if token is not None and token.type == "percentage":
        return bool(token.value >= 100)
    return token is not None and (Measure(16.0).length((token,)) or 0.0) >= _REACH


FIRST = Look(colour=(BLACK, 1.0))
"""Text in black of the usual size, on what is not known."""
