"""The styles of OpenDocument: on which kind of page text stands, with which numbers, and how it is drawn.

Colour, size, opacity and ground of runs (ODF 1.3, part 3, 16.29 and 20): a property holds as the run's style says it,
else the paragraph's, else that of the shape or cell around it, else the default. The colour of text without one is
chosen by the program to be read, so it hides nothing. Any property beyond those computed here and those that cannot
matter (_PLAIN, and _WITHIN by their length) makes the text doubtful.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.drawing.theme import rgb
from pipeline.parse.office.odf.document import attribute, full, name_of, named
from pipeline.parse.sight.colours import Colour, alike
from pipeline.parse.sight.look import Appearance, squeezed
from pipeline.parse.sight.raised import lifted
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
        self._doubts: dict[etree._Element, str] = {}
        self._defaults: dict[str, etree._Element] = {}
        self._lists: dict[str, dict[int, etree._Element]] = {}
        self.outline: dict[int, etree._Element] = {}
        faces = "/".join(map(full, ("office:font-face-decls", "style:font-face")))
        self._fonts = {
            attribute(face, "style:name"): (
                attribute(face, "svg:font-family").strip("'"), attribute(face, "style:font-charset") == _OF_SIGNS
            )
            for root in (common, part)
            for face in root.iterfind(faces)
        }  # fmt: skip
        holders = *common.iterchildren(full("office:styles")), *part.iterchildren(full("office:automatic-styles"))
        for style in (style for holder in holders for style in holder):
            kind, name = name_of(style.tag), attribute(style, "style:name")
            if kind == "style:style":
                self._styles[attribute(style, "style:family"), name] = style
            elif kind == "style:default-style":
                self._defaults[attribute(style, "style:family")] = style
            elif kind.startswith("number:"):
                self._data[name] = style
            elif kind in {"text:list-style", "text:outline-style"}:
                found = [level for one in _LEVELS for level in style.iterchildren(full(one))]
                levels = {whole_number(attribute(level, "text:level"), 0): level for level in found}
                if kind == "text:list-style":
                    self._lists[name] = levels
                else:
                    self.outline = levels

    def chain(self, family: str, name: str) -> Iterator[etree._Element]:
        """A style, then those that it is based on."""
        seen = set[str]()
        while name and name not in seen and (family, name) in self._styles:
            seen.add(name)
            style = self._styles[family, name]
            yield style
            name = attribute(style, "style:parent-style-name")

    def value(self, family: str, name: str, properties: str, wanted: str) -> str | None:
        """An attribute of a style's properties (of the style itself for ""), its own or of those it is based on."""
        key = (family, name, properties, wanted)
        if key not in self._values:
            holders = (
                holder
                for style in self.chain(family, name)
                for holder in (style.iterchildren(full(properties)) if properties else [style])
            )
            found = (holder.get(full(wanted)) for holder in holders)
            self._values[key] = next((value for value in found if value is not None), None)
        return self._values[key]

    def default(self, family: str, properties: str) -> dict[str, str]:
        """The attributes of properties that hold for a family where no style says otherwise."""
        style = self._defaults.get(family)
        holder = None if style is None else style.find(full(properties))
        return {} if holder is None else said_by(holder)

    def shows_nothing(self, name: str, *, of_text: bool) -> bool:
        """Whether a format writes nothing, whatever the number is; of texts, whether it writes no texts either."""
        style = self._data.get(name)
        if style is None or (of_text and name_of(style.tag) != "number:text-style"):
            return False
        drawn = [one for one in style if name_of(one.tag).startswith("number:") and _says(one)]
        others = [attribute(one, "style:apply-style-name") for one in style.iterchildren(full("style:map"))]
        return not drawn and all(
            other != name and other in self._data and not any(map(_says, self._data[other])) for other in others
        )

    def doubt(self, family: str, name: str) -> str:
        """What a style, or one that it is based on, says that may hide a text in a way that is not computed."""
        for style in self.chain(family, name):
            if style not in self._doubts:
                maps = family != "table-cell" and style.find(full("style:map")) is not None
                holders = (one for one in style if name_of(one.tag).endswith("-properties"))
                self._doubts[style] = "a condition" if maps else next(filter(None, map(_doubt_of, holders)), "")
            if self._doubts[style]:
                return self._doubts[style]
        return ""

    def colours_text(self, name: str, ground: Colour | None) -> str:
        """What says that a number format, or one that it gives way to, colours text so that it may not be seen."""
        style = self._data.get(name)
        if style is None:
            return ""
        others = [attribute(one, "style:apply-style-name") for one in named(style, "style:map")]
        for one in (style, *(self._data[other] for other in others if other in self._data)):
            for said in named(one, "style:text-properties"):
                colour = rgb(attribute(said, "fo:color")[1:])
                if _doubt_of(said) or alike(colour, ground) or (colour is not None and ground is None):
                    return "a number format"
        return ""

    def font(self, said: dict[str, str]) -> tuple[str, bool] | None:
        """The font that properties name, and whether it is said to have signs alone; None where they name none."""
        name, family = said.get("style:font-name"), said.get("fo:font-family")
        if name is None and family is None:
            return None
        font = (family or "").strip("'"), said.get("style:font-charset") == _OF_SIGNS
        font = font if name is None else self._fonts.get(name, (name, False))
        return font if font[1] or has_signs(font[0]) else _NO_SIGNS

    def levels(self, name: str) -> dict[int, etree._Element]:
        """The levels, from 1, of a list style."""
        return self._lists.get(name, {})


def _says(part: etree._Element) -> bool:
    return bool(part.attrib or part.text or len(part))


def master_pages(common: etree._Element) -> list[etree._Element]:
    """The pages that hold headers and footers, or stand behind slides."""
    return list(common.iterfind(f"{full('office:master-styles')}//{full('style:master-page')}"))


def said_by(holder: etree._Element) -> dict[str, str]:
    """The attributes of properties by their usual names."""
    return {name_of(str(name)): str(value) for name, value in holder.attrib.items()}


_TEXT, _GRAPHIC, _OF_CELL = "style:text-properties", "style:graphic-properties", "loext:graphic-properties"
_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(cm|mm|in|pt|pc|px|%)?")
_POINTS = {"cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75, None: 72 / 2.54}
_LINES_THROUGH = ("style:text-line-through-style", "style:text-line-through-type")
_ON_THE_LINE = 1 / 7
_USUAL = 12.0  # points
_REMEMBERED = 10_000


@lru_cache(4096)
def length(text: str | None, whole: float | None = None) -> float | None:
    """A length in points, a share of `whole` where it is in percent; None where that is not known."""
    match = _LENGTH.fullmatch((text or "").strip())
    if not match:
        return None
    if match[2] == "%":
        return None if whole is None else float(match[1]) / 100 * whole
    return float(match[1]) * _POINTS[match[2]]


_NAMES = (
    "align allow-overlap anchor-page-number anchor-type area-type background-objects-visible background-size "
    "background-visible blue border-model caption-angle class-names clip color-inversion color-mode column-width "
    "contextual-spacing contrast country decorative direction display duration editable end-intensity fill fill- "
    "gradient-name fill-hatch-name fill-image-name fit-to-contour fit-to-size flow-with-text font-independent-line- "
    "spacing font-size footnote-max-height gamma green height hyphenate image-opacity justify-single-word language "
    "letter-kerning letter-spacing line-break line-height-at-least line-number line-spacing luminance margin-gutter "
    "mirror opacity orphans paragraph-rsid protect punctuation-wrap red register-true rfc-language-tag rotation-align "
    "rotation-angle row-height rsid run-through script shrink-to-fit text-align text-align-last text-autospace text- "
    "scale text-shadow text-transform transition-speed transition-style transition-type use-optimal-column-width use- "
    "optimal-row-height use-window-font-color vertical-align visibility widows width wrap wrap-contour wrap-option "
    "writing-mode x y z-index"
)
_PLAIN = re.compile(
    rf"({_NAMES.replace(' ', '|')})=.*|"
    r"(font-(?!size|relief)|text-(under|over|line-through)|country-|script-|language-|hyphenation-|padding|border|"
    r"shadow|stroke|marker|(start|end)-(line|guide)|break-|page-(?!width|height)|keep-|tab-|number-|textarea-|layout-grid|snap-to|print|"
    r"vertical-(pos|rel)|horizontal-(pos|rel)|wrap-|auto-|rel-|decimal-|diagonal|num-|secondary-fill|tile-|display-|"
    r"min-(width|height)|caption-|show-|visible-area)[\w-]*=.*|"
    r"(color|fill-color|background-color)=(#[0-9a-fA-F]{6}|transparent)|line-height=(?!-?[0-5]?\d%).*|"
    r"text-position=(super|sub|-?\d\d?%)( .*)?|font-size-(asian|complex|rel)[\w-]*=([4-9]|\d\d+)([.]\d+)?(pt|%)|"
    r"cell-protect=(none|protected|formula-hidden)|[\w-]+=(none|0%|0|0cm|0in|0pt|false|auto|normal|100%)",
    re.DOTALL,
)
"""Properties, as name=value, whose effect is computed or that keep nobody from seeing a text."""
_WITHIN = {
    **dict.fromkeys(("margin", "margin-left", "margin-right", "text-indent", "space-before"), (-73.0, 400.0)),
    **dict.fromkeys(("margin-top", "margin-bottom"), (-15.0, 1000.0)), "min-label-width": (0.0, 200.0),
    **dict.fromkeys(("page-width", "page-height"), (200.0, 5000.0)), "min-label-distance": (0.0, 200.0),
}  # fmt: skip
"""Properties that are plain while their length in points is between two others."""


@lru_cache(4096)
def _is_plain(name: str, value: str) -> bool:
    if name not in _WITHIN or value.endswith("%"):
        return name in _WITHIN or _PLAIN.fullmatch(f"{name}={value}") is not None
    found, (least, most) = length(value), _WITHIN[name]
    return found is not None and least <= found <= most


_PARTS = {"tab-stops", "drop-cap", "background-image", "columns", "footnote-sep", "char-complex-color", "list-style",
          "list-level-label-alignment", "fill-complex-color", "text-columns"}  # fmt: skip


def _doubt_of(holder: etree._Element) -> str:
    """The first attribute or child of properties that may hide a text in a way that is not computed; "" for none."""
    for key, value in holder.attrib.items():
        if not _is_plain(name := str(key).rpartition("}")[2], str(value)):
            return name
    parts = {str(child.tag).rpartition("}")[2]: child for child in holder}
    odd = [name for name, part in parts.items() if name not in _PARTS or (name == "background-image" and part.attrib)]
    return odd[0] if odd else ""


@dataclass(frozen=True)
class TextProperties:
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
    doubt: str = ""

    def drawn(self, text: str) -> str:
        """The text as its font shows it, with the marks of what is raised, lowered or struck out."""
        if self.font is not _NO_SIGNS or not text.isascii():
            text = shown_in(self.font[0], text, of_signs=self.font[1])
        return lifted(text, self.lift, self.struck)

    @cached_property
    def appearance(self) -> Appearance:
        """How text with these properties appears."""
        size = self.size * self.raised
        on_what = "the colour behind it" if self.colour is not None and self.ground is None else ""
        return Appearance(
            shown=self.shown, colour=self.colour, background=self.ground, opacity=self.opacity, size=size,
            stretch=self.stretch * squeezed(self.spacing, size), line=self.line, doubt=self.doubt or on_what,
        )  # fmt: skip

    @property
    def hides(self) -> str | None:
        """The kind of hidden text (of hidden.KINDS) that text of this look is; None if it can be seen."""
        return self.appearance.hides


class Looks:
    """The looks that the styles of one file give; remembered, for there are few of them."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._known: dict[tuple[str, str, TextProperties], TextProperties] = {}
        self.first = self._changed(TextProperties(), [styles.default("paragraph", _TEXT)])

    def of(self, family: str, name: str, outer: TextProperties) -> TextProperties:
        """The look in something of a family ("text", "paragraph", "table-cell") and style within another."""
        if not name:
            return outer
        key = (family, name, outer)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._made(family, name, outer)
        return self._known[key]

    def _made(self, family: str, name: str, outer: TextProperties) -> TextProperties:
        chain = [said_by(one) for style in self._styles.chain(family, name) for one in style.iterchildren(full(_TEXT))]
        look = self._changed(outer, chain[::-1])
        doubt, line = look.doubt or self._styles.doubt(family, name), look.line
        if family in {"text", "graphic", "presentation"}:
            return replace(look, doubt=doubt)
        kind = f"style:{family}-properties"
        fill, height, *indents = (
            self._styles.value(family, name, kind, f"fo:{wanted}")
            for wanted in ("background-color", "line-height", "margin-left", "text-indent")
        )
        if family == "table-cell" and fill is None:
            filled, colour = (
                self._styles.value(family, name, _OF_CELL, f"draw:{one}") for one in ("fill", "fill-color")
            )
            fill = colour if filled == "solid" else "" if filled in {None, "none"} else "unknown"
        if family == "paragraph":
            if sum(length(one) or 0.0 for one in indents) < _WITHIN["margin"][0]:
                doubt = doubt or "text-indent"
            line = min((one for one in (length(height), line) if one is not None), default=None)
        return replace(look, ground=_over(fill, look.ground), line=line, doubt=doubt)

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

    def _changed(self, look: TextProperties, chain: list[dict[str, str]]) -> TextProperties:
        """A look changed by the properties of styles, from the most general one on."""
        for place, said in enumerate(chain):
            changes: dict[str, Any] = {
                "size": length(said.get("fo:font-size"), look.size if place else None),  # a share of the one before
                "stretch": length(said.get("style:text-scale"), 1.0),
                "spacing": length(said.get("fo:letter-spacing")),
                "opacity": length(said.get("loext:opacity"), 1.0),
                "font": self._styles.font(said),
            }
            automatic, position = said.get("style:use-window-font-color") == "true", said.get("style:text-position", "")
            if automatic or (changes["opacity"] is None and "fo:color" in said):
                changes["opacity"] = 1.0  # it is the colour's; that of the window is written with 0 % and drawn in full
            changes = {name: value for name, value in changes.items() if value is not None}
            if "text:display" in said:
                changes["shown"] = said["text:display"] != "none"
            if automatic or "fo:color" in said:
                changes["colour"] = None if automatic else rgb(said["fo:color"][1:])
            if place_and_size := position.split():
                lift = place_and_size[0]  # what is moved by less than a seventh of its size is on the line
                moved = {"super": 1.0, "sub": -1.0}.get(lift, length(lift, 1.0) or 0.0)
                changes["lift"] = 0 if abs(moved) < _ON_THE_LINE else 1 if moved > 0 else -1
                if len(place_and_size) == 2:
                    changes["raised"] = length(place_and_size[1], 1.0) or 0.0
            if lines := [said[name] for name in _LINES_THROUGH if name in said]:
                changes["struck"] = all(one != "none" for one in lines)
            look = replace(look, ground=_over(said.get("fo:background-color"), look.ground), **changes)
        return look


def _over(fill: str | None, around: Colour | None) -> Colour | None:
    """The colour of a ground that may let that around it through."""
    return around if fill is None or fill in {"transparent", ""} else rgb(fill[1:])
