"""How each element of an HTML page looks, as far as that decides whether its text can be seen."""

from dataclasses import replace
from itertools import takewhile
from unicodedata import category

from lxml import etree

from pipeline.parse.css.cascade import Cascade, Values, keyword
from pipeline.parse.css.conditions import on_screen
from pipeline.parse.css.declarations import PAINTED, Block, cached_value, declare, odd
from pipeline.parse.css.sheet import Sheets, sheet_in
from pipeline.parse.css.style import UNKNOWN, Style
from pipeline.parse.css.syntax import Measure, Value, paint_of, read_value, split, words
from pipeline.parse.sight.colours import WHITE, Colour

NO_TEXT = {
    "script", "style", "template", "head", "title", "noframes", "datalist", "iframe", "object", "audio", "video", "rp",
    "desc", "defs", "metadata", "annotation", "annotation-xml", "canvas", "progress", "meter", "noembed", "symbol",
    "clippath", "mask", "pattern", "marker", "lineargradient", "radialgradient", "filter",
}  # fmt: skip
"""Elements whose content browsers do not draw, whatever the styles say."""
_OWN_COLOURS: dict[str, Colour | None] = {
    "a": None, "legend": None, "button": (240, 240, 240), "mark": (255, 255, 0), "input": WHITE, "select": WHITE,
    "textarea": WHITE,
}  # fmt: skip
"""Elements to which browsers give colours, and the ground of their boxes."""
_DRAWN = {"text", "tspan", "textpath", "a", "foreignobject"}  # of SVG: only in these is text drawn
_PICTURES = {"img", "svg", "iframe", "object", "video", "canvas", "input", "button", "select", "textarea", "embed",
             "progress", "meter", "hr"}  # fmt: skip
_HINTS = (
    ("bgcolor", "", "background-color", True), ("color", "font", "color", True), ("text", "body", "color", True),
    ("face", "font", "font-family", False), ("mathcolor", "", "color", False), ("mathsize", "", "font-size", False),
    ("mathbackground", "", "background-color", False),
)  # fmt: skip
"""Attributes of the markup, the element on which they stand for a declaration ("": any), whether as of old."""
_MARKED = {"dir", "background", *(name for name, *_ in _HINTS)}
_TOO_MUCH = "its style sheets are too long or too intricate to tell what of the page is seen"
_OVER = "a box that is not in its place may lie over other text"
_WIDEST = 10.0  # px of a border that is but a line
_ANIMATED = {"animation", "animation-name"}
_SWITCHES = {"display", "visibility", "content-visibility", "all"}
_SMALLER, _SMALLEST = ("small", "sub", "sup"), 4  # elements within elements of smaller letters


class PageStyles:
    """The styles of one page. `first` is the style of text outside all elements: the page is white if nothing else.
    `doubts` are reasons why it cannot be told what of the page is seen."""

    def __init__(self, root: etree._Element, *, quirks: bool) -> None:
        self._sheets = _sheets(root)
        self._cascade = Cascade(self._sheets)
        self._link = next((body.get("link", "") for body in root.iter("body")), "")  # the colour of links
        self._hosts = {one.getparent() for one in root.iter("template") if "shadowrootmode" in one.attrib}
        self.counted = False  # whether numbers were drawn that style sheets count
        self._doubts = dict.fromkeys([self._sheets.odd] if self._sheets.odd else [])
        schemes = [one.get("content", "").lower() for one in root.iter("meta") if one.get("name") == "color-scheme"]
        dark = "dark" in " ".join(schemes) and "light" not in " ".join(schemes)
        self.first = Style(
            ground=WHITE,
            quirks=quirks,
            doubt="color-scheme" if dark else "",
            veil="a style sheet elsewhere" if self._sheets.unread else "",
        )

    @property
    def doubts(self) -> list[str]:
        """Why it cannot be told what of the page is seen."""
        too_much = self._sheets.too_long or self._cascade.exhausted
        return [*self._doubts, *([_TOO_MUCH] if too_much else [])]

    def style_of(self, element: etree._Element, outer: Style) -> tuple[Style, str | None]:
        """The style inside an element, and the kind of hidden text that it is with all that is in it."""
        if outer.counted:
            return outer, None
        holding = self._cascade.declared(element, _hints(element, self._link), outer.variables)
        values, tag = outer.settled(holding.values), element.tag
        swayed = bool(holding.open & _SWITCHES) or not _ANIMATED.isdisjoint(odd(values))
        if not swayed and (kind := _hides(element, values)):
            return replace(outer, counted=True), kind
        style = outer.inside(element, values, holding, self._sheets.faces).decorated(tag, values, outer)
        if swayed:
            style = replace(style, shown=True)
        if self._sheets.unread and ("class" in element.attrib or "id" in element.attrib):
            style = replace(style, colour=UNKNOWN if "color" not in values else style.colour, veil=self.first.veil)
        if tag in _OWN_COLOURS:
            style = self._own_colours(element, values, style)
        if tag in {"col", "colgroup"} and (not style.shown or style.clipped or _paints(values)):
            self._doubts["the looks of a column"] = None
        if (style.moved and (tag in _PICTURES or _paints(values))) or tag == "dialog" or _reaches_out(values):
            self._doubts[_OVER] = None
        if element in self._hosts:
            style = replace(style, doubt=style.doubt or "a shadow root")
        if tag in _SMALLER and sum(1 for _ in element.iterancestors(*_SMALLER)) >= _SMALLEST:
            style = replace(style, doubt=style.doubt or "letters within letters, ever smaller")
        return _built(element, style, outer), None

    def drawn(self, element: etree._Element, where: str, style: Style) -> tuple[str, Style]:
        """The text that style sheets draw "before" or "after" what is in an element, "" for none; and its style.

        Where that is a number which they count, `counted` becomes true.
        """
        holding = self._cascade.drawn(element, where, style.variables)
        values = style.settled(holding.values) if not style.counted else {}
        if "content" not in values:
            return "", style
        own = style.inside(None, values, holding, self._sheets.faces)
        if "none" in words(values.get("display", ())) or words(values["content"]) in (["none"], ["normal"]):
            return "", style
        if own.moved and (_paints(values) or any(one.type in {"url", "function"} for one in values["content"])):
            self._doubts[_OVER] = None
        if own.verdict[0]:
            return "", style
        self.counted |= any(
            one.type == "function" and one.lower_name.startswith("counter") for one in values["content"]
        )
        pieces = list[str]()  # CSS Generated Content Level 3; the pictures of icon fonts are no text
        for one in takewhile(lambda one: one != "/", values["content"]):
            if one.type == "function" and one.lower_name == "attr":
                pieces.append(str(element.get(next(iter(words(one.arguments)), ""), "")))
            elif one.type == "string":
                pieces.append(str(one.value))
        text = "".join(pieces)
        return text if own.font else "".join(one for one in text if category(one) != "Co"), own

    def _own_colours(self, element: etree._Element, values: Values, style: Style) -> Style:
        """Links and form fields have colours of the browser's where the page gives them none."""
        colour = style.colour if "color" in values else UNKNOWN
        if element.tag in {"a", "legend"}:
            return replace(style, colour=colour, fill=style.fill if "color" in values else None)
        if "background-color" in values:
            return replace(style, colour=colour)
        return replace(style, colour=colour, ground=_OWN_COLOURS[element.tag], veil="the browser's own colours")


def _built(element: etree._Element, style: Style, outer: Style) -> Style:
    """The style of an element with what its place in the markup does to what is in it."""
    tag = element.tag
    if tag == "svg":
        return replace(style, drawing=True, fill=None, doubt=style.doubt or "a drawing")
    if tag == "foreignobject" and outer.drawing:
        return replace(style, drawing=False)
    return replace(style, doubt=style.doubt or "marquee") if tag == "marquee" else style


def _paints(values: Values) -> bool:
    """Whether a box paints more than thin lines: a background, a picture, a wide border or outline, a shadow."""
    colour = values.get("background-color", ())
    paint = paint_of(colour[0]) if colour else None
    if (colour and (paint is None or paint.opacity > 0)) or any(
        one.type in {"url", "function"} for one in values.get("background-image", ())
    ):
        return True
    return any(abs(px) > _WIDEST for name in PAINTED & values.keys() for px in _lengths(values[name]))


def _reaches_out(values: Values) -> bool:
    """Whether an outline or the shadow of a box may lie over what is beside it."""
    found = [_lengths(values[name]) for name in ("outline", "outline-width") if name in values]
    shadows = [_lengths(tuple(part)) for part in split(values.get("box-shadow", ()))]
    return any(abs(px) > _WIDEST for one in (*found, *(shadow[3:] for shadow in shadows)) for px in one)


def _lengths(value: Value) -> list[float]:
    return [px for one in value if (px := Measure(16.0).length((one,))) is not None]


def _sheets(root: etree._Element) -> Sheets:
    sheets = Sheets()
    for element in root.iter("style", "link"):
        inert = next(element.iterancestors("template", "noscript"), None) is not None
        holds = on_screen(read_value(element.get("media", "")))
        if inert or holds is False:
            continue
        unsure = "" if holds else "@media"
        if element.tag == "style":
            if element.get("type", "").strip().lower() in {"", "text/css"}:
                sheets.read(element.text or "", unsure)
        elif "stylesheet" in (rel := element.get("rel", "").lower()) and "alternate" not in rel:
            css = sheet_in(element.get("href", ""))
            sheets.unread |= css is None
            sheets.read(css or "", unsure)
    return sheets


def _hints(element: etree._Element, link: str) -> Block | None:
    """The declarations that attributes of the markup stand for (HTML, 15.3), None for none; `link`: that colour."""
    attributes, tag = element.attrib, element.tag
    linked = bool(link) and tag == "a" and "href" in attributes
    if tag != "bdo" and not linked and (not attributes or not _MARKED.intersection(attributes)):
        return None
    said = [("color", _legacy(link))] if linked else []
    if tag == "bdo" or "dir" in attributes:
        said.append(("direction", attributes.get("dir", "")))
        said.append(("unicode-bidi", "isolate-override" if tag == "bdo" else "isolate"))
    if attributes.get("background"):
        said.append(("background-image", f'url("{attributes["background"]}")'))
    for name, of, stands_for, is_old in _HINTS:
        if name in attributes and of in {"", tag}:
            said.append((stands_for, _legacy(attributes[name]) if is_old else attributes[name]))
    hints = Block({}, {})
    for name, value in said:
        declare(hints, name, cached_value(value))
    return hints if hints.normal else None


def _legacy(colour: str) -> str:
    """A colour of an attribute, in which the sign of a number may be missing."""
    colour = colour.strip()
    digits = len(colour) in {3, 6} and all(one in "0123456789abcdefABCDEF" for one in colour)
    return f"#{colour}" if digits else colour


def _hides(element: etree._Element, values: Values) -> str | None:
    attributes, tag = element.attrib, element.tag
    display = words(values.get("display", ()))
    shut = "hidden" in attributes or (tag == "dialog" and "open" not in attributes) or "popover" in attributes
    if "none" in display or (shut and not display):
        return "marked_hidden"
    if keyword(values, "content-visibility") == "hidden" and "inline" not in display:
        return "marked_hidden"
    if tag == "noscript" or attributes.get("hidden", "").lower() == "until-found":
        return "marked_hidden"
    return None


def draws_own_text(element: etree._Element, style: Style) -> bool:
    """Whether an element's own text is drawn: of the elements of a drawing only that of some."""
    return not style.drawing or element.tag in _DRAWN


def all_text(element: etree._Element) -> str:
    """The text in an element, hidden or not, but no scripts."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag not in NO_TEXT:
            pieces.append(all_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
