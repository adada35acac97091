"""The box of an element: whether it has one, how it is placed, and whether it has room for text."""

from dataclasses import dataclass

from pipeline.parse.css.cascade import Values, keyword, layer_of
from pipeline.parse.css.syntax import Measure, words
from pipeline.parse.sight.look import SLIVER

_FAR = 999.0  # px
_WIDTH = 800.0  # px: what a share of a width is taken of
_SIDES = ("left", "right")
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
_HIDING = {"hidden", "clip", "scroll", "auto", "overlay"}


@dataclass(frozen=True)
class Box:
    """The box of an element. `exists`: not `display: contents`. `is_block`: it can be moved, scaled and given a
    size. `left` and `top` are how far it is moved, in px. `layer` is its z-index. `is_cut`: it has no room, and what
    does not fit is not shown. `items`: the elements in it are boxes of their own. `may_be_flat`: its height is that
    of its lines. `flow` is how its text stands to what is around it: "lines" of its own, "row" for the cells of one,
    "apart" for a box beside others, "run" for text that runs on in the line, "left", "right" or "left right" where it
    does with a gap there; "" as its tag says.
    """

    exists: bool
    is_block: bool
    position: str
    left: float
    top: float
    layer: int | None
    overflow_hidden: bool
    is_cut: bool
    may_be_flat: bool
    items: bool
    flow: str


def box_of(tag: str, values: Values, size: float, *, laid_out: bool, quirks: bool) -> Box:
    """The box of an element with text of a size in px; `laid_out`: it is an item of a flex or grid box."""
    display, position = words(values.get("display", ())), keyword(values, "position") or "static"
    free = laid_out or position in {"absolute", "fixed"} or keyword(values, "float") in {"left", "right"}
    if display:
        block = free or not ({"inline", "ruby", "contents"} & set(display)) or len(display) > 1
    else:
        block = free or (tag in _BLOCKS or tag in _TABLES)
    table = tag in _TABLES if not display else display[0].startswith("table") or display[0] == "inline-table"
    measure = Measure(size, None, quirks)
    hidden = any(keyword(values, name) in _HIDING for name in ("overflow-x", "overflow-y"))
    sized = block and not table
    return Box(
        exists="contents" not in display,
        is_block=block,
        position=position,
        left=_sideways(values, position, measure) + _length(values, "margin-left", measure),
        top=_downwards(values, position, measure) + (_length(values, "margin-top", measure) if block else 0.0),
        layer=layer_of(values) if position != "static" or laid_out else None,
        overflow_hidden=hidden and sized,
        is_cut=hidden and sized and _has_no_room(values, measure),
        may_be_flat="height" not in values and "min-height" not in values,
        items=any(one.endswith(_LAID_OUT) for one in display) or (laid_out and "contents" in display),
        flow=_flow(tag, display, free, values, measure),
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
    measure = Measure(measure.em, _WIDTH, measure.quirks)
    gaps = [side for side in _SIDES if _gap(values, side, measure) >= _GAP * measure.em]
    return " ".join(gaps) or ("run" if display else "")


def _gap(values: Values, side: str, measure: Measure) -> float:
    return _length(values, f"margin-{side}", measure) + _length(values, f"padding-{side}", measure)


def _length(values: Values, name: str, measure: Measure) -> float:
    return measure.length(values.get(name, ())) or 0.0


def _sideways(values: Values, position: str, measure: Measure) -> float:
    if position not in {"relative", "absolute", "fixed"}:
        return 0.0
    left, right = (measure.length(values.get(name, ())) for name in ("left", "right"))
    return left if left is not None else -right if right is not None and abs(right) >= _FAR else 0.0


def _downwards(values: Values, position: str, measure: Measure) -> float:
    """How far down a box is moved, in px, negative for up; below the window, where nobody can scroll, is as far up."""
    if position not in {"relative", "absolute", "fixed"}:
        return 0.0
    top, bottom = (measure.length(values.get(name, ())) for name in ("top", "bottom"))
    if top is not None:
        return -top if position == "fixed" and top >= 2 * _FAR else top
    if bottom is None or abs(bottom) < _FAR:
        return 0.0
    return bottom if position == "relative" and bottom < 0 else -abs(bottom)


def _has_no_room(values: Values, measure: Measure) -> bool:
    across = ("width", "padding-left", "padding-right"), ("height", "padding-top", "padding-bottom")
    return any(_is_flat(values, measure, *names) for names in across)


def _is_flat(values: Values, measure: Measure, name: str, *paddings: str) -> bool:
    size, most, least = (measure.length(values.get(each, ())) for each in (name, f"max-{name}", f"min-{name}"))
    sizes = [one for one in (size, most) if one is not None]
    if not sizes or (least or 0.0) > _SLIVER or any(_length(values, one, measure) > _SLIVER for one in paddings):
        return False
    unsure = any(values.get(one) and measure.length(values[one]) is None for one in (*paddings, f"min-{name}"))
    return min(sizes) <= _SLIVER and not (unsure and keyword(values, f"min-{name}") not in {"auto", "0"})
