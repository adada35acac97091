"""How text looks at a place of a page: what an element's declarations make of the look around it.

Boxes are not laid out. A place is known as a shift from where the text would stand, in px.
"""

from dataclasses import dataclass, field, replace
from itertools import chain, islice
from math import ceil

from lxml import etree

from pipeline.parse.css.boxes import Box, box_of, has_no_room, length
from pipeline.parse.css.cascade import Holding, Values, Variables, keyword, number_of
from pipeline.parse.css.declarations import CUTTING, INHERITED, PICTURE, SIZES, TAKING, WIDE, odd
from pipeline.parse.css.sheet import address_of
from pipeline.parse.css.syntax import Measure, Token, font_size, paint_of, read_value, split, word, words
from pipeline.parse.sight.colours import BLACK, WHITE, Colour, Paint, alike, mixed
from pipeline.parse.sight.look import SLIVER, Look, squeezed
from pipeline.parse.sight.raised import lowered, raised, struck
from pipeline.parse.sight.symbols import has_signs

POINTS = 0.75
"""Of a px."""
UNKNOWN = Paint()
_BLACK = Paint(BLACK)
_REACH = 999.0
"""px: how far from its beginning text is believed to reach."""
_PAGE = (0.0, 0.0, 5000.0 * POINTS, 1e9)
"""Points: where a page can be seen or scrolled to."""
_WINDOW, _NEAR = 1280.0, 30.0  # px to the right, and to the left or above, within which text surely stands on the page
_WIDE = 100.0  # px: a box that is less wide may cut words off, and a longer shift in one that is cut may take text out
_DEEP, _HUGE = 20_000.0, 500.0  # px below which nobody scrolls; of letters that do not fit into a window
_ROUND = 24.0  # px of corners that cut no letters off
_COLUMN, _LETTER = 600.0, 0.6  # px of a column; of the size of letters: the width of one
_INITIAL = {"visibility": "visible", "color": "canvastext", "font-size": "medium", "letter-spacing": "normal",
            "text-indent": "0", "white-space": "normal", "line-height": "normal", "text-shadow": "none",
            "font-family": "serif", "direction": "ltr", "-webkit-text-fill-color": "currentcolor"}  # fmt: skip
_UNCLEAR = {
    "color", "-webkit-text-fill-color", "letter-spacing", "word-spacing", "text-indent", "font-family", "opacity",
    "background-clip", "box-shadow", "vertical-align",
}  # fmt: skip
_SYSTEM: dict[str, Colour] = {"canvas": WHITE, "canvastext": BLACK, "window": WHITE, "windowtext": BLACK}
_LEVELS = {"sup": 1, "super": 1, "sub": -1}
_STRUCK = {"s", "strike", "del"}
_DECORATED = {"sup", "sub", *_STRUCK}
_DECORATING = frozenset(("vertical-align", "text-decoration-line", "font-variant-position", "top", "bottom"))
_CELLS = {"td", "th", "img", "table", "tr", "tbody", "thead", "tfoot"}  # aligned in their row or line
_NOTABLE = 0.2  # of the size of letters: a shift from which on text is raised or lowered
_SMALL = 0.85  # of the letters around: text that is smaller and stands at the top is raised
_THICK = 3.0  # px of a line through text
_UNBROKEN = {"pre", "listing", "xmp", "nobr"}
_PIECES = 500  # of the text in a box that are looked at
_LINES = ("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4")  # elements that begin a line
_PUSHING = ("margin-left", "padding-left", "text-indent", "left", "padding-right", "margin-right")


@dataclass(frozen=True)
class Style:
    """How text is drawn at a place, and what of its surroundings decides how elements in it are drawn.

    `doubt` is the first thing whose effect on the text is not computed, `taken` the first that may only take it away;
    `veil`: what may show letters that their colour does not. `strayed`: it may stand on another ground than that around
    it. `counted`: the text here is part of hidden text that was counted already. `cut`: what does not fit into a box
    around it is not shown; `clipped`: nothing of the box is. `moved`: it may lie over other text. `items`: elements in
    it are laid out as boxes (flex, grid). `flow`: how the text of the element stands to what is around it (as in
    boxes.Box). `level`: 1 for raised, -1 for lowered text. `struck`: a line is drawn through it. `font`: the symbol
    font that it is in, "" for all others. `turned`: all its letters are drawn from right to left, which is the
    direction (`rtl`) that is set.
    """

    shown: bool = True
    size: float = 16.0
    colour: Paint = _BLACK
    fill: Paint | None = None
    ground: Colour | None = None
    opacity: float = 1.0
    left: float = 0.0
    top: float = 0.0
    indent: float = 0.0
    spacing: float = 0.0
    line: float | None = None
    unbroken: bool = False
    clipped: bool = False
    cut: bool = False
    moved: bool = False
    strayed: bool = False
    veil: str = ""
    shadowed: bool = False
    doubt: str = ""
    taken: str = ""
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
    def verdict(self) -> tuple[str | None, str]:
        """The kind of hidden text that text here is, None if that is not certain; and what it is in doubt for."""
        if self.counted:
            return None, ""
        look = self.look
        kind, doubt = look.hides, self.doubt
        if kind in {"same_colour", "invisible"}:
            doubt = doubt or self.veil or ("text-shadow" if self.shadowed else "")
        if kind and (kind == "marked_hidden" or not doubt):
            return kind, ""
        if self.line is not None and self.line < self.size / 2:
            doubt = doubt or "line-height"
        if self.strayed and alike(look.colour, WHITE):
            doubt = doubt or "position"
        return None, doubt or self.taken

    @property
    def look(self) -> Look:
        """This style in the terms of all formats, with lengths in points."""
        colour, alpha = self.fill or self.colour
        left = self.left + min(0.0, self.indent)
        return Look(
            shown=self.shown,
            colour=colour,
            background=self.ground,
            opacity=self.opacity * alpha,
            size=self.size * POINTS,
            stretch=squeezed(self.spacing, self.size),
            box=(left * POINTS, self.top * POINTS, _REACH * POINTS, _REACH * POINTS),
            clip=(0.0, 0.0, 0.0, 0.0) if self.clipped else _PAGE,
        )

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

    def inside(self, element: etree._Element | None, values: Values, holding: Holding, faces: set[str]) -> "Style":
        """The style inside an element (None for what is drawn beside one), whose settled values these are. `faces` are
        families of letters that the page brings along."""
        if not values and holding.variables is self.variables and not holding.unsure:
            usual = not (self.items or self.flow or self.declared)
            return self if usual else replace(self, items=False, flow="apart" if self.items else "", declared={})
        if not values:
            return replace(self, variables=holding.variables, doubt=self.doubt or holding.unsure, flow="", items=False)
        tag = "" if element is None else str(element.tag)
        # The size of letters in px; None where it is not known.
        value = values.get("font-size", ())
        found = font_size(value, self.size, Measure(self.size, self.size, self.quirks)) if value else self.size
        size = None if found is None else max(0.0, found)
        box = box_of(tag, values, size or self.size, laid_out=self.items, quirks=self.quirks)
        style = self._text(values, self.size if size is None else size, box)
        odds = [*([holding.unsure] if holding.unsure else []), *odd(values), *style._unclear(values, size, faces)]
        if element is not None and any(one.type in PICTURE for one in values.get("content", ())):
            odds.append("content")
        return replace(style, variables=holding.variables)._boxed(element, values, box, self, odds)

    def decorated(self, tag: str, values: Values, outer: "Style") -> "Style":
        """This style of an element in `outer`, raised, lowered or struck out where its tag or its values say so."""
        if tag not in _DECORATED and _DECORATING.isdisjoint(values):
            return self
        line = values.get("text-decoration-line", ())
        struck = "line-through" in words(line) or (tag in _STRUCK and not line)
        thick = any((Measure(self.size).length((token,)) or 0.0) > _THICK for token in line)
        level = _level(tag, values, self.size, outer.size) or self.level
        return replace(
            self, level=level, struck=self.struck or struck, taken=self.taken or ("text-decoration" if thick else "")
        )

    def signed(self, text: str) -> str:
        """Text of this style, wrapped where the writer has to mark it."""
        text = struck(text) if self.struck else text
        return raised(text) if self.level > 0 else lowered(text) if self.level < 0 else text

    def _text(self, values: Values, size: float, box: Box) -> "Style":
        """This style with what an element's values change in what its text inherits; `size` is its font's in px."""
        measure = Measure(size, None, self.quirks)
        visibility, fill = keyword(values, "visibility"), values.get("-webkit-text-fill-color", ())
        colour = _paint(values["color"][0], self.colour) if "color" in values else self.colour
        order, rtl = keyword(values, "unicode-bidi"), keyword(values, "direction") == "rtl"
        indent = length(values, "text-indent", measure) or 0.0
        wraps = [keyword(values, name) for name in ("white-space", "text-wrap") if name in values]
        rtl = rtl if "direction" in values else self.rtl
        line = self.line  # None where it is usual
        if height := values.get("line-height", ()):
            is_share = height[0].type == "number"
            line = float(height[0].value) * size if is_share else Measure(size, size).length(height[:1])
        font = self.font
        if "font-family" in values:  # the first of the families if it is a symbol font
            name = " ".join(token.serialize() for token in next(iter(split(values["font-family"])), ()))
            font = name if has_signs(name) else ""
        return replace(
            self,
            rtl=rtl,
            turned=rtl if order.endswith("override") else self.turned and order in {"", "normal"},
            shown=visibility not in {"hidden", "collapse"} if visibility else self.shown,
            size=size,
            colour=colour,
            fill=_paint(fill[0], colour) if fill else self.fill,
            shadowed=keyword(values, "text-shadow") != "none" if "text-shadow" in values else self.shadowed,
            indent=indent if "text-indent" in values and box.is_block else self.indent,
            spacing=length(values, "letter-spacing", measure) or 0.0 if "letter-spacing" in values else self.spacing,
            line=line,
            unbroken=not {"nowrap", "pre"}.isdisjoint(wraps) if wraps else self.unbroken,
            font=font,
            items=box.items,
            flow=box.flow,
            declared=values,
        )

    def _unclear(self, values: Values, size: float | None, faces: set[str]) -> list[str]:
        """The computed properties whose values are none that can be computed here."""
        found = ["font-size"] if size is None or size > _HUGE else []
        if values.keys().isdisjoint(_UNCLEAR):
            return found
        paints = {"color": self.colour, "-webkit-text-fill-color": self.fill}
        found += [name for name, paint in paints.items() if name in values and paint == UNKNOWN]
        for name, least in (("letter-spacing", -_PAGE[3]), ("word-spacing", -self.size / 2), ("text-indent", -_WIDE)):
            px = length(values, name, Measure(self.size))
            far = name == "text-indent" and (px or 0.0) <= -_REACH  # that is off the page
            if px is None or not (least <= px <= _WIDE or far):
                found.append(name)
        if abs(Measure(self.size, self.size).length(values.get("vertical-align", ())) or 0.0) > 2 * self.size:
            found.append("vertical-align")
        families = [[str(getattr(one, "value", "")) for one in name] for name in split(values.get("font-family", ()))]
        odd = {
            "opacity": number_of(values, "opacity") is None and "opacity" in values,
            "background-clip": "text" in words(values.get("background-clip", ())),
            "@font-face": any(" ".join("".join(name).lower().split()) in faces for name in families),
            "box-shadow": "inset" in words(values.get("box-shadow", ())),
        }
        return [*found, *(name for name, holds in odd.items() if holds)]

    def _boxed(
        self, element: etree._Element | None, values: Values, box: Box, outer: "Style", odds: list[str]
    ) -> "Style":
        """This style with what the box of the element changes, for its text and for all elements in it; `odds` are the
        properties that are not computed."""
        measure = Measure(self.size, None, self.quirks)
        left, top = (0.0, 0.0) if box.position == "fixed" else (outer.left, outer.top)
        left, top = left + box.left, top + box.top
        free = box.position in {"absolute", "fixed"}
        cuts = {keyword(values, name) for name in ("overflow-x", "overflow-y")} & CUTTING
        flat = self.line is not None and self.line <= SLIVER / POINTS and box.may_be_flat
        clipped = bool(cuts) and box.is_sized and (flat or has_no_room(values, measure))
        page = element is not None and element.tag in {"html", "body"}  # which can be scrolled
        cut = outer.cut or (box.is_block and not page and bool(cuts & {"hidden", "clip"}))
        opacity = number_of(values, "opacity") if box.exists else None
        far = bool(box.left or box.top) and (-_REACH < left < -_NEAR or -_REACH < top < -_NEAR)
        far = far or left > _WINDOW or top > _DEEP
        pushed = outer.cut and any(
            (length(values, name, Measure(self.size, whole)) or 0.0) > _WIDE
            for whole, names in ((_WIDE, ("width", "min-width")), (_WINDOW, _PUSHING))
            for name in names
        )
        taken = box.doubt or ("position" if far else "overflow" if pushed else "")
        if element is not None and not clipped:
            taken = taken or self._too_small(element, values, box, cut)
        ground, veil, doubt = self._ground(values) if box.exists else (self.ground, self.veil, "")
        doubts = [*odds, doubt, "position" if outer.clipped and free else ""]
        return replace(
            self,
            ground=ground,
            veil=veil,
            strayed=ground == outer.ground and (outer.strayed or free or far),
            opacity=outer.opacity * (1.0 if opacity is None else max(0.0, min(1.0, opacity))),
            left=left,
            top=top,
            clipped=outer.clipped or clipped,
            cut=cut,
            moved=outer.moved or box.moved,
            doubt=outer.doubt or next((one for one in doubts if one and not TAKING.match(one)), ""),
            taken=outer.taken or next((one for one in odds if TAKING.match(one)), "") or taken,
        )

    def _ground(self, values: Values) -> tuple[Colour | None, str, str]:
        """What the element's own background makes of the ground and its veil, and what of it is not computed."""
        ground, veil, doubt = self.ground, self.veil, ""
        if colours := values.get("background-color", ()):
            colour, alpha = _paint(colours[0], self.colour)
            if colour is None:
                ground, doubt = None, "background-color"
            elif alpha >= 1:
                ground, veil = colour, ""
            elif alpha > 0:
                ground = mixed(colour, self.ground, alpha)
        drawn = [one for one in values.get("background-image", ()) if one.type in PICTURE]
        doubt = "background-image" if any(_is_within(one) for one in drawn) else doubt
        return ground, "background-image" if drawn else veil, doubt

    def _too_small(self, element: etree._Element, values: Values, box: Box, cut: bool) -> str:
        """The property that makes a box too small for the text in it, by a rough count of lines; "" for none."""
        hidden = {keyword(values, name) for name in ("overflow-x", "overflow-y")} & {"hidden", "clip"}
        unbroken = self.unbroken or element.tag in _UNBROKEN
        if not box.is_block or not (hidden or (cut and unbroken) or (box.is_sized and SIZES & values.keys())):
            return ""
        measure = Measure(self.size, None, self.quirks)
        sizes = [measure.length(values.get(name, ())) for name in ("width", "max-width")]
        widths = [one for one in sizes if one is not None]
        text = chain(islice(element.itertext(), _PIECES), [str(element.get("value", ""))])
        letters = sum(len(one) for one in text if not one.isspace()) * _LETTER * self.size
        if widths and min(widths) < min(letters, 3 * self.size):
            return "width"
        room = max(1.0, min([*widths, _COLUMN]))
        crowded = hidden and (
            box.is_laid_out or (box.items and letters > room) or (widths and min(widths) < min(letters, _WIDE))
        )
        said = [name for name in ("height", "max-height") if name in values and not keyword(values, name)]
        if hidden and keyword(values, "overflow-y") not in hidden:
            said = []  # it can be scrolled
        heights = [measure.length(values[name]) for name in said]
        known = [one for one in heights if one is not None]
        inner = list(islice(element.iterdescendants(), _PIECES))
        corners = [measure.length((one,)) for one in values.get("border-radius", ())]
        crowded = crowded or (hidden and any(one is None or one > _ROUND for one in corners))
        unclear = hidden and (len(known) < len(heights) or ((heights or unbroken) and any(one.attrib for one in inner)))
        crowded = crowded or (hidden and not box.is_sized and (unbroken or widths))
        if letters and (crowded or unclear or (cut and unbroken and letters > room)):
            return "overflow"
        lines = ceil(letters / room) + sum(one.tag in _LINES for one in inner)
        needed = lines * (self.size if self.line is None else self.line) * 0.9
        if keyword(values, "box-sizing") == "border-box":
            needed += sum(length(values, f"padding-{side}", measure) or 0.0 for side in ("top", "bottom"))
        return "height" if letters and known and min(known) < needed else ""


def _paint(token: Token, current: Paint) -> Paint:
    """The paint that a colour stands for; `current` is that of `currentcolor`."""
    keyword = word((token,))
    if keyword == "currentcolor":
        return current
    return Paint(_SYSTEM[keyword]) if keyword in _SYSTEM else paint_of(token) or UNKNOWN


def _is_within(picture: Token) -> bool:
    """Whether a picture is drawn by the page itself or lies in the same file: those elsewhere may not be loaded."""
    address = address_of(picture).strip().lower()
    return not address or address.startswith(("data:", "cid:"))


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
