"""The styles of OpenDocument: on which kind of page text stands, with which numbers, and how it is drawn.

Colour, size, opacity and ground of runs (ODF 1.3, part 3, 16.29 and 20): a property holds as the run's style says it,
else the paragraph's, else that of the shape or cell around it, else the default. The colour of text without one is
chosen by the program to be read, so it is unknown and hides nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.drawing.theme import rgb
from pipeline.parse.office.odf.document import attribute, full, name_of, named
from pipeline.parse.sight.colours import Colour
from pipeline.parse.sight.look import Appearance, squeezed
from pipeline.parse.sight.raised import lowered, raised, struck
from pipeline.parse.sight.symbols import has_signs, shown_in

_LEVELS = ("text:list-level-style-number", "text:list-level-style-bullet", "text:list-level-style-image",
           "text:outline-level-style")  # fmt: skip


_OF_SIGNS, _NO_SIGNS = "x-symbol", ("", False)


class Styles:
    """The styles that hold in one file: the common ones of the document and the file's own automatic ones."""

    def __init__(self, common: etree._Element, part: etree._Element) -> None:
        self._styles: dict[tuple[str, str], etree._Element] = {}
        self._values: dict[tuple[str, str, str, str], str | None] = {}
        self._data: dict[str, etree._Element] = {}
        self._defaults: dict[str, etree._Element] = {}
        self._lists: dict[str, dict[int, etree._Element]] = {}
        self.outline: dict[int, etree._Element] = {}
        self._fonts = {
            attribute(face, "style:name"): (
                attribute(face, "svg:font-family").strip("'"), attribute(face, "style:font-charset") == _OF_SIGNS
            )
            for root in (common, part)
            for faces in root.iterchildren(full("office:font-face-decls"))
            for face in faces.iterchildren(full("style:font-face"))
        }  # fmt: skip
        for holder in [
            *common.iterchildren(full("office:styles")),
            *part.iterchildren(full("office:automatic-styles")),
        ]:
            for style in holder.iterchildren(full("style:style")):
                self._styles[attribute(style, "style:family"), attribute(style, "style:name")] = style
            for style in holder.iterchildren(full("style:default-style")):
                self._defaults[attribute(style, "style:family")] = style
            for style in holder.iterchildren(full("text:list-style")):
                self._lists[attribute(style, "style:name")] = _by_level(style)
            for style in holder:
                if name_of(style.tag).startswith("number:"):
                    self._data[attribute(style, "style:name")] = style
            for style in holder.iterchildren(full("text:outline-style")):
                self.outline = _by_level(style)

    def value(self, family: str, name: str, properties: str, wanted: str) -> str | None:
        """An attribute of a style's properties (of the style itself for ""), its own or of those it is based on."""
        key = (family, name, properties, wanted)
        if key not in self._values:
            self._values[key] = next(self._found(*key), None)
        return self._values[key]

    def properties(self, family: str, name: str, properties: str) -> Iterator[dict[str, str]]:
        """The attributes of a style's properties by their usual names, its own, then those of what it is based on."""
        for style in self._chain(family, name):
            for holder in style.iterchildren(full(properties)):
                yield _said(holder)

    def default(self, family: str, properties: str) -> dict[str, str]:
        """The attributes of properties that hold for a family where no style says otherwise."""
        style = self._defaults.get(family)
        holder = None if style is None else next(style.iterchildren(full(properties)), None)
        return {} if holder is None else _said(holder)

    def shows_nothing(self, name: str, *, of_text: bool) -> bool:
        """Whether a format writes nothing, whatever the number is; of texts, whether it writes no texts either."""
        style = self._data.get(name)
        if style is None or (of_text and name_of(style.tag) != "number:text-style"):
            return False
        drawn = [
            one for one in style if name_of(one.tag).startswith("number:") and (one.attrib or one.text or len(one))
        ]
        others = [attribute(one, "style:apply-style-name") for one in style.iterchildren(full("style:map"))]
        return not drawn and all(other != name and self._is_empty(other) for other in others)

    def is_conditional(self, family: str, name: str) -> bool:
        """Whether a style gives way to others on conditions."""
        return any(style.find(full("style:map")) is not None for style in self._chain(family, name))

    def font(self, said: dict[str, str]) -> tuple[str, bool] | None:
        """The font that properties name, and whether it is said to have signs alone; None where they name none."""
        name, family = said.get("style:font-name"), said.get("fo:font-family")
        if name is None and family is None:
            return None
        font = (family or "").strip("'"), said.get("style:font-charset") == _OF_SIGNS
        font = font if name is None else self._fonts.get(name, (name, False))
        return font if font[1] or has_signs(font[0]) else _NO_SIGNS

    def names(self, family: str, name: str) -> Iterator[str]:
        """A style's name, then those of the styles that it is based on."""
        return (attribute(style, "style:name") for style in self._chain(family, name))

    def levels(self, name: str) -> dict[int, etree._Element]:
        """The levels, from 1, of a list style."""
        return self._lists.get(name, {})

    def _is_empty(self, name: str) -> bool:
        style = self._data.get(name)
        return style is not None and not any(one.attrib or one.text or len(one) for one in style)

    def _found(self, family: str, name: str, properties: str, wanted: str) -> Iterator[str]:
        for style in self._chain(family, name):
            for holder in style.iterchildren(full(properties)) if properties else [style]:
                value = holder.get(full(wanted))
                if value is not None:
                    yield value

    def _chain(self, family: str, name: str) -> Iterator[etree._Element]:
        seen = set[str]()
        while name and name not in seen and (family, name) in self._styles:
            seen.add(name)
            style = self._styles[family, name]
            yield style
            name = attribute(style, "style:parent-style-name")


def master_pages(common: etree._Element) -> list[etree._Element]:
    """The pages that hold headers and footers, or stand behind slides."""
    return [
        page
        for holder in common.iterchildren(full("office:master-styles"))
        for page in named(holder, "style:master-page")
    ]


def _said(holder: etree._Element) -> dict[str, str]:
    return {name_of(str(name)): str(value) for name, value in holder.attrib.items()}


def _by_level(style: etree._Element) -> dict[int, etree._Element]:
    levels = [level for name in _LEVELS for level in style.iterchildren(full(name))]
    return {whole_number(attribute(level, "text:level"), 0): level for level in levels}


_TEXT, _GRAPHIC = "style:text-properties", "style:graphic-properties"
_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(cm|mm|in|pt|pc|px|%)?")
_POINTS = {"cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75, None: 72 / 2.54}
_LINES_THROUGH = ("style:text-line-through-style", "style:text-line-through-type")
_ON_THE_LINE = 1 / 7
_USUAL = 12.0  # points
_REMEMBERED = 10_000


def length(text: str | None, whole: float | None = None) -> float | None:
    """A length in points, a share of `whole` where it is in percent; None where that is not known."""
    match = _LENGTH.fullmatch((text or "").strip())
    if not match:
        return None
    if match[2] == "%":
        return None if whole is None else float(match[1]) / 100 * whole
    return float(match[1]) * _POINTS[match[2]]


@dataclass(frozen=True)
class Look:
    """How a run is drawn, and on what; None is what is not known. Sizes are in points."""

    shown: bool = True
    colour: Colour | None = None
    ground: Colour | None = None
    size: float = _USUAL
    raised: float = 1.0
    stretch: float = 1.0
    spacing: float = 0.0
    opacity: float = 1.0
    line: float | None = None
    lift: int = 0  # above 0 it is raised, below 0 lowered
    struck: bool = False
    font: tuple[str, bool] = _NO_SIGNS  # its name, and whether the document says that it has signs alone

    def drawn(self, text: str) -> str:
        """The text as its font shows it, with the marks of what is raised, lowered or struck out."""
        if self.font is not _NO_SIGNS or not text.isascii():
            text = shown_in(self.font[0], text, of_signs=self.font[1])
        text = raised(text) if self.lift > 0 else lowered(text) if self.lift < 0 else text
        return struck(text) if self.struck else text

    @property
    def hides(self) -> str | None:
        """The kind of hidden text (of hidden.KINDS) that text of this look is; None if it can be seen."""
        size = self.size * self.raised
        return Appearance(
            shown=self.shown, colour=self.colour, background=self.ground, opacity=self.opacity, size=size,
            stretch=self.stretch * squeezed(self.spacing, size), line=self.line,
        ).hides  # fmt: skip


class Looks:
    """The looks that the styles of one file give; remembered, for there are few of them."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._known: dict[tuple[str, str, Look], Look] = {}
        self.first = self._changed(Look(), [styles.default("paragraph", _TEXT)])

    def of(self, family: str, name: str, outer: Look) -> Look:
        """The look in something of a family ("text", "paragraph", "table-cell") and style within another."""
        if not name:
            return outer
        key = (family, name, outer)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._made(family, name, outer)
        return self._known[key]

    def _made(self, family: str, name: str, outer: Look) -> Look:
        chain = list(reversed(list(self._styles.properties(family, name, _TEXT))))
        look = self._changed(outer, chain)
        fill = self._styles.value(family, name, f"style:{family}-properties", "fo:background-color")
        return look if family == "text" else replace(look, ground=_over(fill, look.ground))

    def fill(self, family: str, name: str, around: Colour | None, *, flows: bool) -> Colour | None:
        """The colour behind the text of a shape: its own if that is opaque, else the one around it; None if not known.

        `flows`: it is a frame of a text, which is filled by nothing if it says nothing; other shapes by what is usual.
        """
        default = {} if flows else self._styles.default("graphic", _GRAPHIC)
        fill, colour, opacity, plain = (
            self._styles.value(family, name, _GRAPHIC, wanted) or default.get(wanted)
            for wanted in ("draw:fill", "draw:fill-color", "draw:opacity", "fo:background-color")
        )
        if fill is None and flows:
            return _over(plain, around)
        if fill == "none":
            return around
        solid = fill == "solid" and (length(opacity, 1.0) or (0.0 if opacity else 1.0)) >= 1
        return rgb(colour[1:]) if solid and colour else None

    def _changed(self, look: Look, chain: list[dict[str, str]]) -> Look:
        """A look changed by the properties of styles, from the most general one on."""
        for place, said in enumerate(chain):
            display, automatic = said.get("text:display"), said.get("style:use-window-font-color") == "true"
            colour = None if automatic else rgb(said["fo:color"][1:]) if "fo:color" in said else look.colour
            opacity = length(said.get("loext:opacity"), 1.0)
            if automatic or (opacity is None and "fo:color" in said):
                opacity = 1.0  # it is the colour's; that of the window is written with 0 % and drawn in full
            size = length(said.get("fo:font-size"), look.size if place else None)  # a share of what it is based on
            stretch, position = length(said.get("style:text-scale"), 1.0), said.get("style:text-position", "").split()
            spacing = length(said.get("fo:letter-spacing"))
            lines = [said[name] for name in _LINES_THROUGH if name in said]
            look = replace(
                look,
                shown=look.shown if display is None else display != "none",
                colour=colour,
                ground=_over(said.get("fo:background-color"), look.ground),
                opacity=look.opacity if opacity is None else opacity,
                size=look.size if size is None else size,
                stretch=look.stretch if stretch is None else stretch,
                raised=(length(position[1], 1.0) or 0.0) if len(position) == 2 else look.raised,
                spacing=look.spacing if spacing is None else spacing,
                lift=_lift(position[0]) if position else look.lift,
                struck=all(one != "none" for one in lines) if lines else look.struck,
                font=self._styles.font(said) or look.font,
            )
        return look


def _lift(position: str) -> int:
    """Above the line (1), on it (0), below it (-1); what is moved by less than a seventh of its size is on it."""
    moved = {"super": 1.0, "sub": -1.0}.get(position, length(position, 1.0) or 0.0)
    return 0 if abs(moved) < _ON_THE_LINE else 1 if moved > 0 else -1


def _over(fill: str | None, around: Colour | None) -> Colour | None:
    """The colour of a ground that may let that around it through."""
    return around if fill is None or fill in {"transparent", ""} else rgb(fill[1:])
