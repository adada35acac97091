"""The styles of a Word document (ISO/IEC 29500-1, 17.7): what they say of lists, headings and of how text looks.

A style says what it does not inherit from the one that it is based on. A chain that leads back to itself ends there.
"""

import re
from typing import NamedTuple

from lxml import etree

from pipeline.parse.office.package import Package, whole_number

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)  # built-in styles have this name in every language
_BY_ID = re.compile(r"(?:heading|überschrift|berschrift|titre|ttulo|título|kop|rubrik|titolo)([1-9])", re.IGNORECASE)
_OFF = {"0", "false", "off", "none"}
_LOOKS = tuple(W + name for name in ("vanish", "color", "sz", "highlight", "shd"))
_MARKERS = {"none": None, "white": "FFFFFF", "black": "000000"}  # text of other colours can be seen on other markers
_NORMAL = 22  # half points
BODY = 9  # the outline level of text that is no heading


class Look(NamedTuple):
    """How text looks, as far as something says so: `colour` and `fill` "RRGGBB" or "auto", `size` in half points."""

    hidden: bool | None = None
    colour: str | None = None
    size: int | None = None
    fill: str | None = None  # behind the characters


class Style(NamedTuple):
    """What a style says together with those that it is based on; `outline` is a level from 0, BODY for none."""

    number: str | None = None
    level: str | None = None
    outline: int | None = None
    look: Look = Look()
    behind: str | None = None  # the fill behind a whole paragraph
    coloured: bool | None = None  # whether it colours anything; of styles of tables


PLAIN = Look()
_NOTHING = Style()


class WordStyles:
    """The styles of a document by their id, each resolved once."""

    def __init__(self, package: Package) -> None:
        self._elements: dict[str, etree._Element] = {}
        self._resolved: dict[str, Style] = {}
        self._default = ""
        self.defaults = PLAIN
        for part in package.related(package.main, "styles"):
            root = package.xml(part)
            self.defaults = over(read_look(root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")), self.defaults)
            for style in root.iter(W + "style"):
                self._elements[style.get(W + "styleId", "")] = style
                if style.get(W + "type") == "paragraph" and style.get(W + "default", "0") not in _OFF:
                    self._default = style.get(W + "styleId", "")

    def paragraph(self, properties: etree._Element | None) -> Style:
        """What holds for a paragraph with these properties (w:pPr): its own, then what its style says."""
        name = value(properties, "pStyle") or self._default
        return _merged(_own(properties, None), self.style(name))

    def style(self, name: str | None) -> Style:
        """The style of an id; for an id that is no style, a heading by its name or nothing."""
        pending: dict[str, etree._Element] = {}
        while name and name in self._elements and name not in self._resolved and name not in pending:
            pending[name] = self._elements[name]
            name = value(pending[name], "basedOn")
        style = self._resolved.get(name or "") or _unknown(name or "", self._elements)
        for one, element in reversed(pending.items()):
            own = _own(element.find(W + "pPr"), element)
            style = self._resolved[one] = _merged(own, style)
        return style


def read_look(properties: etree._Element | None) -> Look:
    """What run properties (w:rPr) say themselves."""
    if properties is None:
        return PLAIN
    found = {child.tag: child for child in properties}
    if found.keys().isdisjoint(_LOOKS):
        return PLAIN
    hidden, colour, size, marker, shading = (found.get(tag) for tag in _LOOKS)
    return Look(
        None if hidden is None else hidden.get(W + "val", "1") not in _OFF,
        None if colour is None else colour.get(W + "val"),
        None if size is None else whole_number(size.get(W + "val"), _NORMAL),
        _fill(shading) if marker is None else _MARKERS.get(marker.get(W + "val", ""), ""),
    )


def read_fill(properties: etree._Element | None) -> str | None:
    """The colour of a shading: "RRGGBB", "auto", "" for a pattern of two colours; None where there is no shading."""
    return _fill(None if properties is None else properties.find(W + "shd"))


def over(own: Look, inherited: Look) -> Look:
    """One look over another: what it does not say is inherited."""
    if own == PLAIN:
        return inherited
    return Look._make(other if said is None else said for said, other in zip(own, inherited, strict=True))


def value(element: etree._Element | None, name: str) -> str | None:
    """The value (w:val) of a child of this name."""
    found = None if element is None else element.find(W + name)
    return None if found is None else found.get(W + "val")


def _own(properties: etree._Element | None, style: etree._Element | None) -> Style:
    """What the properties of a paragraph say, and the style that holds them."""
    found = {} if properties is None else {child.tag: child for child in properties}
    numbers, outline = found.get(W + "numPr"), found.get(W + "outlineLvl")
    level = None if outline is None else min(whole_number(outline.get(W + "val"), BODY), BODY)
    own = Style(value(numbers, "numId"), value(numbers, "ilvl"), level, PLAIN, _fill(found.get(W + "shd")))
    if style is None:
        return own
    return own._replace(
        outline=_outline_of(value(style, "name") or "") if level is None else level,
        look=read_look(style.find(W + "rPr")),
        coloured=next(style.iter(W + "shd"), None) is not None or None,
    )


def _fill(shading: etree._Element | None) -> str | None:
    if shading is None:
        return None
    pattern = shading.get(W + "val", "clear")
    if pattern == "solid":
        return str(shading.get(W + "color", "auto")).replace("auto", "000000")
    return str(shading.get(W + "fill", "auto")) if pattern in {"clear", "nil"} else ""


def _merged(own: Style, inherited: Style) -> Style:
    if own == _NOTHING:
        return inherited
    merged = Style._make(other if said is None else said for said, other in zip(own, inherited, strict=True))
    return merged._replace(look=over(own.look, inherited.look))


def _unknown(name: str, known: dict[str, etree._Element]) -> Style:
    heading = None if name in known else _BY_ID.fullmatch(name)
    return Style(outline=int(heading[1]) - 1) if heading else Style()


def _outline_of(name: str) -> int | None:
    heading = _HEADING.fullmatch(name.strip())
    return int(heading[1]) - 1 if heading else 0 if name.strip().lower() == "title" else None
