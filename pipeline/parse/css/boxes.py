"""The box of an element: whether it has one, where it is moved, and whether it has room for text."""

from dataclasses import dataclass

from pipeline.parse.css.cascade import Values, keyword, number_of
from pipeline.parse.css.declarations import PLACED
from pipeline.parse.css.syntax import Measure, words
from pipeline.parse.sight.look import SLIVER

_FAR = 999.0  # px
_WIDTH = 800.0  # px: what a share of a width is taken of
_SIDES = ("left", "right", "top", "bottom")
_MARGINS = frozenset(f"margin-{side}" for side in _SIDES)
_MOVING = {*_SIDES, *_MARGINS, *PLACED, "position", "z-index"}
_GAPS = frozenset(("margin-left", "margin-right", "padding-left", "padding-right"))
_LAID_OUT = ("flex", "grid", "-webkit-box", "-webkit-inline-box")
_SLIVER = SLIVER * 4 / 3  # px
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr",
    "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre", "search", "section",
    "summary", "ul", "caption", "input", "button", "select", "textarea", "img", "svg", "iframe", "marquee", "listing",
    "xmp", "text", "g", "foreignobject", "math", "video", "canvas", "object", "embed", "audio", "progress", "meter",
}  # fmt: skip
_TABLES = {"table", "thead", "tbody", "tfoot", "tr", "td", "th", "col", "colgroup"}
_IN_LINE = {"inline", "ruby", "run-in", "math"}
_GAP = 0.15  # of the size of letters: what is that far from its neighbour in the line is another word
_OVER = 8.0  # px by which a box that is moved up or down may lie over another line
_ASIDE = 30.0  # px by which a box may reach out at its sides
_SLIGHT = 100.0  # px that a box may be moved from the right or from below
_HALF = 50.0  # percent that a box may be moved by
_LOW = 700.0  # px: the lowest place in a window at which something that does not scroll can be seen


@dataclass(frozen=True)
class Box:
    """The box of an element. `exists`: not `display: contents`. `is_block`: it can be moved and given a size, which it
    keeps if it `is_sized`, as no table does. `is_laid_out`: it is an item of a flex or grid box, `items`: what is in it
    is. `may_be_flat`: its height is that of its lines. `flow` is how its text stands to what is around it: "lines" of
    its own, "row" for the cells of one, "apart" for a box beside others, "run" for text that runs on in the line,
    "left", "right" or "left right" where it does with a gap there; "" as its tag says. `left` and `top` are how far it
    is moved, in px; `moved`: it may lie over others. `doubt` is a property that moves it in a way that is not computed.
    """

    exists: bool
    is_block: bool
    is_sized: bool
    is_laid_out: bool
    position: str
    may_be_flat: bool
    items: bool
    flow: str
    left: float
    top: float
    moved: bool
    doubt: str


def box_of(tag: str, values: Values, size: float, *, laid_out: bool, quirks: bool) -> Box:
    """The box of an element with text of a size in px; `laid_out`: it is an item of a flex or grid box."""
    display, position = words(values.get("display", ())), keyword(values, "position") or "static"
    free = laid_out or position in {"absolute", "fixed"} or keyword(values, "float") not in {"", "none"}
    if display:
        block = free or not ({"inline", "ruby", "contents"} & set(display)) or len(display) > 1
    else:
        block = free or (tag in _BLOCKS or tag in _TABLES)
    table = tag in _TABLES if not display else display[0].startswith("table") or display[0] == "inline-table"
    left, top, moved, doubt = 0.0, 0.0, False, ""
    if not values.keys().isdisjoint(_MOVING):
        left, top, moved, doubt = _moves(values, position, Measure(size, None, quirks), block=block, laid_out=laid_out)
    return Box(
        left=left,
        top=top,
        moved=moved,
        doubt=doubt,
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


def _moves(
    values: Values, position: str, measure: Measure, *, block: bool, laid_out: bool
) -> tuple[float, float, bool, str]:
    """How far a box is moved by its sides, where it is placed by them, and by its margins; whether it may lie over
    others, and the property whose effect on that is not computed."""
    placed, doubts = position in {"relative", "absolute", "fixed"}, list[str]()
    shifts = dict.fromkeys((*_SIDES, *(f"margin-{side}" for side in _SIDES)), 0.0)
    for name in shifts.keys() & values.keys() if placed else _MARGINS & values.keys():
        value = values[name]
        px = length(values, name, measure)
        if px is None and not (value[0].type == "percentage" and 0 <= value[0].value <= _HALF):
            doubts.append(name)
        shifts[name] = px or 0.0
    right, bottom, up = shifts["right"], shifts["bottom"], shifts["margin-top"] if block else 0.0
    left = shifts["left"] - (right if abs(right) >= _FAR and "left" not in values else 0.0)
    top = shifts["top"] - (abs(bottom) if bottom >= _FAR and "top" not in values else 0.0)
    if position == "fixed" and top >= 2 * _FAR:
        top = -top  # below the window, where nobody can scroll, is as far away as above it
    out = _SLIGHT < abs(right) < _FAR or _SLIGHT < abs(bottom) < _FAR or bottom <= -_FAR
    low = position == "fixed" and (top > _LOW or left > _WIDTH)
    under = (number_of(values, "z-index") or 0.0) < 0 and (placed or laid_out)
    doubts += ["position"] * (out or low) + ["z-index"] * under
    doubts += ["margin-bottom"] * (shifts["margin-bottom"] < -_OVER) + ["margin-right"] * (
        shifts["margin-right"] < -_ASIDE
    )
    moved = position in {"absolute", "fixed"} or any(abs(shifts[side]) > _OVER for side in _SIDES)
    moved = moved or up < -_OVER or shifts["margin-left"] < -_ASIDE or not PLACED.isdisjoint(values)
    return left + shifts["margin-left"], top + up, moved, min(doubts, default="")


def has_no_room(values: Values, measure: Measure) -> bool:
    """Whether a box is no wider or no higher than a sliver."""
    return _is_flat(values, measure, "width", "left", "right") or _is_flat(values, measure, "height", "top", "bottom")


def _is_flat(values: Values, measure: Measure, name: str, *sides: str) -> bool:
    sizes = [one for each in (name, f"max-{name}") if (one := measure.length(values.get(each, ()))) is not None]
    more = [length(values, each, measure) for each in (f"min-{name}", *(f"padding-{side}" for side in sides))]
    return bool(sizes) and min(sizes) <= _SLIVER and all(one is not None and one <= _SLIVER for one in more)
