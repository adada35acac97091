"""The box of an element: whether it has one, where it is moved, and whether it has room for text."""

from dataclasses import dataclass

from pipeline.parse.css.cascade import Values, keyword, number_of
from pipeline.parse.css.declarations import PLACED
from pipeline.parse.css.syntax import Measure, words
from pipeline.parse.sight.look import SLIVER

_FAR = 999.0  # px
_WIDTH = 800.0  # px: what a share of a width is taken of
_SIDES = ("left", "right", "top", "bottom")
_GAPS = frozenset(("margin-left", "margin-right", "padding-left", "padding-right"))
_LAID_OUT = ("flex", "grid", "-webkit-box", "-webkit-inline-box")
_SLIVER = SLIVER * 4 / 3  # px
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr",
    "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre", "search", "section",
    "summary", "ul", "caption", "input", "button", "select", "textarea", "img", "svg", "iframe", "marquee", "listing",
    "xmp", "text", "g", "foreignobject", "math",
}  # fmt: skip
_TABLES = {"table", "thead", "tbody", "tfoot", "tr", "td", "th", "col", "colgroup"}
_IN_LINE = {"inline", "ruby", "run-in", "math"}
_GAP = 0.15  # of the size of letters: what is that far from its neighbour in the line is another word
_OVER = 8.0  # px by which a box that is moved up or down may lie over another line
_ASIDE = 30.0  # px by which a box may reach out at its sides
_SLIGHT = 100.0  # px that a box may be moved from the right or from below
_LOW = 700.0  # px: the lowest place in a window at which something that does not scroll can be seen


@dataclass(frozen=True)
class Box:
    """The box of an element. `exists`: not `display: contents`. `is_block`: it can be moved and given a size, which it
    keeps if it `is_sized`, as no table does. `is_laid_out`: it is an item of a flex or grid box, `items`: what is in it
    is. `may_be_flat`: its height is that of its lines. `flow` is how its text stands to what is around it: "lines" of
    its own, "row" for the cells of one, "apart" for a box beside others, "run" for text that runs on in the line,
    "left", "right" or "left right" where it does with a gap there; "" as its tag says.
    """

    exists: bool
    is_block: bool
    is_sized: bool
    is_laid_out: bool
    position: str
    may_be_flat: bool
    items: bool
    flow: str


@dataclass(frozen=True)
class Moves:
    """How far a box is moved, in px, and whether it may lie over others. `doubt` is the property that moves it in a way
    that is not computed, "" for none."""

    left: float = 0.0
    top: float = 0.0
    moved: bool = False
    doubt: str = ""


def box_of(tag: str, values: Values, size: float, *, laid_out: bool, quirks: bool) -> Box:
    """The box of an element with text of a size in px; `laid_out`: it is an item of a flex or grid box."""
    display, position = words(values.get("display", ())), keyword(values, "position") or "static"
    free = laid_out or position in {"absolute", "fixed"} or keyword(values, "float") not in {"", "none"}
    if display:
        block = free or not ({"inline", "ruby", "contents"} & set(display)) or len(display) > 1
    else:
        block = free or (tag in _BLOCKS or tag in _TABLES)
    table = tag in _TABLES if not display else display[0].startswith("table") or display[0] == "inline-table"
    return Box(
        exists="contents" not in display,
        is_block=block,
        is_sized=block and not table,
        is_laid_out=laid_out,
        position=position,
        may_be_flat="height" not in values and "min-height" not in values,
        items=any(one.endswith(_LAID_OUT) for one in display) or (laid_out and "contents" in display),
        flow=_flow(tag, display, free, values, Measure(size, _WIDTH, quirks)),
    )


def _flow(tag: str, display: list[str], free: bool, values: Values, measure: Measure) -> str:
    """The `flow` of a box; `free`: it floats, is placed on its own, or is an item of a flex or grid box."""
    if not display and (tag in _BLOCKS or tag in _TABLES):
        return ""
    kind = display[-1] if display else ""
    if kind == "contents":
        return "run"
    if kind == "table-row":
        return "row"
    if kind == "table-cell" or kind.startswith(("inline-", "-webkit-inline")):
        return "apart"
    if display and (kind not in _IN_LINE or display[0] == "block"):
        return "apart" if display[0] == "inline" else "lines"
    if free:
        return "apart"
    if _GAPS.isdisjoint(values):
        return "run" if display else ""
    gaps = [
        side
        for side in ("left", "right")
        if sum(measure.length(values.get(f"{name}-{side}", ())) or 0.0 for name in ("margin", "padding"))
        >= _GAP * measure.em
    ]
    return " ".join(gaps) or ("run" if display else "")


def length(values: Values, name: str, measure: Measure) -> float | None:
    """The px that a property is set to, 0 for none or a word; None where that is not known here."""
    value = values.get(name, ())
    return 0.0 if not value or value[0].type == "ident" else measure.length(value[:1])


def moves(values: Values, box: Box, measure: Measure) -> Moves:
    """How a box is moved by its sides, where it is placed by them, and by its margins."""
    placed = box.position in {"relative", "absolute", "fixed"}
    names = [name for name in (*_SIDES, *(f"margin-{side}" for side in _SIDES)) if name in values]
    shifts, doubt = dict[str, float](), ""
    for name in names:
        px = length(values, name, measure)
        share = values[name][0].value / 100 if values[name][0].type == "percentage" else None
        if px is None and not (share is not None and 0 <= share <= 1):
            doubt = doubt or (name if placed or name.startswith("margin") else "")
        shifts[name] = px or 0.0
    sides = shifts if placed else {}
    right, bottom = sides.get("right", 0.0), sides.get("bottom", 0.0)
    left = sides.get("left", -right if abs(right) >= _FAR else 0.0)
    top = sides.get("top", -abs(bottom) if bottom >= _FAR or (bottom <= -_FAR and box.position != "relative") else 0.0)
    if box.position == "fixed" and top >= 2 * _FAR:
        top = -top  # below the window, where nobody can scroll, is as far away as above it
    elif box.position == "fixed" and (top > _LOW or left > _WIDTH):
        doubt = doubt or "position"
    if _SLIGHT < abs(right) < _FAR or _SLIGHT < abs(bottom) < _FAR or shifts.get("margin-bottom", 0.0) < -_OVER:
        doubt = doubt or ("position" if right or bottom else "margin-bottom")
    if shifts.get("margin-right", 0.0) < -_ASIDE:
        doubt = doubt or "margin-right"
    if (number_of(values, "z-index") or 0.0) < 0 and (placed or box.is_laid_out):
        doubt = doubt or "z-index"
    up = shifts.get("margin-top", 0.0) if box.is_block else 0.0
    moved = box.position in {"absolute", "fixed"} or any(abs(px) > _OVER for px in sides.values())
    moved = moved or up < -_OVER or shifts.get("margin-left", 0.0) < -_ASIDE or not PLACED.isdisjoint(values)
    return Moves(left + shifts.get("margin-left", 0.0), top + up, moved, doubt)


def has_no_room(values: Values, measure: Measure) -> bool:
    """Whether a box is no wider or no higher than a sliver."""
    across = ("width", "padding-left", "padding-right"), ("height", "padding-top", "padding-bottom")
    return any(_is_flat(values, measure, *names) for names in across)


def _is_flat(values: Values, measure: Measure, name: str, *paddings: str) -> bool:
    size, most, least = (measure.length(values.get(each, ())) for each in (name, f"max-{name}", f"min-{name}"))
    sizes = [one for one in (size, most) if one is not None]
    if not sizes or (least or 0.0) > _SLIVER:
        return False
    if any((length(values, one, measure) or 0.0) > _SLIVER for one in paddings):
        return False
    unsure = any(values.get(one) and measure.length(values[one]) is None for one in (*paddings, f"min-{name}"))
    return min(sizes) <= _SLIVER and not (unsure and keyword(values, f"min-{name}") not in {"auto", "0"})
