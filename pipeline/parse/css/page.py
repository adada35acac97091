"""How each element of an HTML page looks, as far as that decides whether its text can be seen.

An element may lie over all else in the box around it, and hide what it covers.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from unicodedata import category

from lxml import etree

from pipeline.parse.css.cascade import Cascade, Values, Variables, keyword, layer_of, number_of
from pipeline.parse.css.conditions import on_screen
from pipeline.parse.css.declarations import Block, declare
from pipeline.parse.css.look import FIRST, Look
from pipeline.parse.css.paint import UNKNOWN, background
from pipeline.parse.css.sheet import Sheets, sheet_in
from pipeline.parse.css.syntax import Measure, Token, read_value, word, words
from pipeline.parse.sight.colours import WHITE

_MOST = 200  # elements in a box that are looked at
_COVERS = 100  # that are looked for on a page
_SCREEN = 2000  # characters of a page that fit into a window


class Covers:
    """The covers of a page: elements that are absolutely placed, as large as the box around them, and opaque."""

    def __init__(self, values_of: Callable[[etree._Element, Look], Values]) -> None:
        self._values_of = values_of
        self._found: dict[etree._Element, int] = {}  # a cover, and its z-index

    def applied(self, element: etree._Element, values: Values, look: Look) -> Look:
        """The look inside an element, covered where an element beside or in it lies over it."""
        if element in self._found:
            return replace(look, covered=False)
        layer = (layer_of(values) or 0) if keyword(values, "position") not in {"", "static"} else None
        if look.covered and layer is not None and self._is_above(element, layer):
            look = replace(look, covered=False)
        if keyword(values, "position") in {"relative", "absolute", "fixed"} or _is_short_page(element):
            for child in element[:_MOST]:
                if self._is_cover(child, look):
                    return replace(look, covered=True)
        return look

    def _is_above(self, element: etree._Element, layer: int) -> bool:
        """Whether a placed element lies over the cover that is beside it or one of those around it."""
        around = {element, *element.iterancestors()}
        for cover, its in self._found.items():
            beside = next((one for one in around if one.getparent() is cover.getparent()), None)
            if beside is not None and (layer < its or (layer == its and cover in beside.itersiblings())):
                return False
        return True

    def _is_cover(self, element: etree._Element, outer: Look) -> bool:
        if element in self._found or len(self._found) >= _COVERS:
            return element in self._found
        if "style" not in element.attrib and "class" not in element.attrib and "id" not in element.attrib:
            return False
        values = self._values_of(element, outer)
        if keyword(values, "position") != "absolute" or not _is_full(values) or not _is_opaque(values, outer):
            return False
        layer = layer_of(values) or 0
        if layer >= 0:
            self._found[element] = layer
        return layer >= 0


def _is_short_page(element: etree._Element) -> bool:
    return element.tag == "body" and len("".join(element.itertext())) <= _SCREEN


def _is_full(values: Values) -> bool:
    """Whether an element reaches from one edge of the box around it to the other, both ways, in a window in px."""
    return _reaches(values, "left", "right", "width", 1280.0) and _reaches(values, "top", "bottom", "height", 800.0)


def _reaches(values: Values, begin: str, end: str, size: str, whole: float) -> bool:
    measure = Measure(16.0, whole)
    first, last, length = (measure.length(values.get(name, ())) for name in (begin, end, size))
    if first is None or first > 0:
        return False
    return (last is not None and last <= 0 and length is None) or (length is not None and length + first >= whole)


def _is_opaque(values: Values, outer: Look) -> bool:
    hidden = word(values.get("display", ())) == "none" or keyword(values, "visibility") in {"hidden", "collapse"}
    odd = {"transform", "filter", "clip-path", "mask-image", "mix-blend-mode", "pointer-events"} & set(values)
    faint = "opacity" in values and number_of(values, "opacity") != 1
    return not faint and not hidden and not odd and background(values, None, outer.colour)[1]


NO_TEXT = {
    "script", "style", "template", "head", "title", "noframes", "datalist", "iframe", "object", "audio", "video", "rp",
    "desc", "defs", "metadata", "annotation", "annotation-xml", "canvas", "progress", "meter", "noembed", "symbol",
    "clippath", "mask", "pattern", "marker", "lineargradient", "radialgradient", "filter",
}  # fmt: skip
"""Elements whose content browsers do not draw, whatever the styles say."""
_OWN_COLOURS = {"a", "button", "input", "mark", "select", "textarea", "legend"}  # that browsers give them
_DRAWN = {"text", "tspan", "textpath", "a", "foreignobject"}  # of SVG: only in these is text drawn
_OF_SVG = ("fill", "fill-opacity", "opacity", "display", "visibility", "font-size", "filter", "mask", "clip-path",
           "transform", "letter-spacing", "font-family")  # fmt: skip
_MARKED = {"dir", "face", "bgcolor", "background", "color", "text", *_OF_SVG}
_TOO_MUCH = "its style sheets are too long or too intricate to tell what of the page is seen"


class PageStyles:
    """The styles of one page. `first` is the look of text outside all elements: the page is white if nothing else."""

    def __init__(self, root: etree._Element, *, quirks: bool) -> None:
        sheets = _sheets(root)
        self._unread = sheets.unread
        self._too_long = sheets.too_long
        self._cascade = Cascade(sheets)
        self._covers = Covers(self._values)
        self.counted = False  # whether numbers were drawn that style sheets count
        dark = "dark" in (scheme := _scheme(root)) and "light" not in scheme
        known = not (self._unread or dark)
        self.first = replace(
            FIRST,
            background=WHITE if known else None,
            colour=FIRST.colour if known else UNKNOWN,
            quirks=quirks,
            variables=Variables(sheets.initial),
        )

    @property
    def doubt(self) -> str:
        """Why it cannot be told what of the page is seen; "" where it can."""
        return _TOO_MUCH if self._too_long or self._cascade.exhausted else ""

    def look_of(self, element: etree._Element, outer: Look) -> tuple[Look, str | None]:
        """The look inside an element, and the kind of hidden text that it is with all that is in it."""
        if outer.counted:
            return outer, None
        declared, variables = self._cascade.declared(element, _hints(element, outer), outer.variables)
        values = outer.settled(declared)
        if kind := _hides(element, values):
            return replace(outer, counted=True), kind
        unknown = self._unread and ("class" in element.attrib or "id" in element.attrib)
        look = outer.inside(element.tag, values, variables, unknown=unknown)
        look = self._covers.applied(element, values, look.decorated(element.tag, values, outer))
        if element.tag in _OWN_COLOURS:
            look = _own_colours(element.tag, values, look)
        if element.tag == "svg":
            look = replace(look, drawing=True, fill=None)
        elif outer.drawing and element.tag == "foreignobject":
            look = replace(look, drawing=False, fill=None)
        return (replace(look, counted=True), look.gone) if look.gone else (look, None)

    def drawn(self, element: etree._Element, where: str, look: Look) -> tuple[str, Look]:
        """The text that style sheets draw "before" or "after" what is in an element, "" for none; and its look.

        Where that is a number which they count, `counted` becomes true.
        """
        declared = self._cascade.drawn(element, where, look.variables)
        values = look.settled(declared) if declared and not look.counted else {}
        if "content" not in values:
            return "", look
        own = look.inside("", values, look.variables, unknown=False)
        if own.gone or own.hides or "none" in words(values.get("display", ())):
            return "", look
        self.counted |= any(
            one.type == "function" and one.lower_name.startswith("counter") for one in values["content"]
        )
        text = "".join(_content(element, one) for one in takewhile(lambda one: one != "/", values["content"]))
        return text if own.font else "".join(one for one in text if category(one) != "Co"), own

    def _values(self, element: etree._Element, look: Look) -> Values:
        return look.settled(self._cascade.declared(element, _hints(element, look), look.variables)[0])


def _content(element: etree._Element, token: Token) -> str:
    """What one token of `content` draws (CSS Generated Content Level 3); the pictures of icon fonts are no text."""
    if token.type == "function" and token.lower_name == "attr":
        return str(element.get(next(iter(words(token.arguments)), ""), ""))
    return str(token.value) if token.type == "string" else ""


def _sheets(root: etree._Element) -> Sheets:
    """The style sheets of a page that its own file holds, in their order."""
    sheets = Sheets()
    for element in root.iter("style", "link"):
        inert = next(element.iterancestors("template", "noscript"), None) is not None
        if inert or not on_screen(read_value(element.get("media", ""))):
            continue
        if element.tag == "style":
            if element.get("type", "").strip().lower() in {"", "text/css"}:
                sheets.read(element.text or "")
        elif "stylesheet" in (rel := element.get("rel", "").lower()) and "alternate" not in rel:
            css = sheet_in(element.get("href", ""))
            sheets.unread |= css is None
            sheets.read(css or "")
    return sheets


def _scheme(root: etree._Element) -> str:
    """The colour schemes that a page names for itself; "" for none."""
    return " ".join(one.get("content", "").lower() for one in root.iter("meta") if one.get("name") == "color-scheme")


def _hints(element: etree._Element, outer: Look) -> Block | None:
    """The declarations that attributes of the markup stand for (HTML, 15.3; SVG 2, 6.6); None where there are none."""
    attributes = element.attrib
    if element.tag != "bdo" and (not attributes or not _MARKED.intersection(attributes)):
        return None
    hints = Block({}, {})
    if element.tag == "bdo" or "dir" in attributes:
        declare(hints, "direction", attributes.get("dir", ""))
        declare(hints, "unicode-bidi", "isolate-override" if element.tag == "bdo" else "isolate")
    if "bgcolor" in attributes:
        declare(hints, "background-color", _legacy(attributes["bgcolor"]))
    if attributes.get("background"):
        declare(hints, "background-image", "url(x)")
    if "color" in attributes and element.tag == "font":
        declare(hints, "color", _legacy(attributes["color"]))
    if "face" in attributes and element.tag == "font":
        declare(hints, "font-family", attributes["face"])
    if "text" in attributes and element.tag == "body":
        declare(hints, "color", _legacy(attributes["text"]))
    if outer.drawing or element.tag == "svg":
        for name in _OF_SVG:
            if name in attributes:
                declare(hints, name, attributes[name])
    return hints


def _legacy(colour: str) -> str:
    """A colour of an attribute, in which the sign of a number may be missing."""
    colour = colour.strip()
    digits = len(colour) in {3, 6} and all(one in "0123456789abcdefABCDEF" for one in colour)
    return f"#{colour}" if digits else colour


def _hides(element: etree._Element, values: Values) -> str | None:
    """Whether an element is not drawn at all."""
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


def _own_colours(tag: str, values: Values, look: Look) -> Look:
    """Links and form fields have colours of the browser's where the page gives them none."""
    colour = look.colour if "color" in values else UNKNOWN
    if tag in {"a", "legend"}:
        return replace(look, colour=colour, fill=look.fill if "color" in values else None)
    known = "background-color" in values or "background-image" in values
    return replace(look, colour=colour, background=look.background if known else None)


def draws_own_text(element: etree._Element, look: Look) -> bool:
    """Whether an element's own text is drawn: of the elements of a drawing only that of some."""
    return not look.drawing or element.tag in _DRAWN


def all_text(element: etree._Element) -> str:
    """The text in an element, hidden or not, but no scripts."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag not in NO_TEXT:
            pieces.append(all_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
