"""Colours and fills of Office documents (ISO/IEC 29500-1, 20.1.2.3 and 20.1.8).

Colours are those of a theme's scheme, and what is made from them. A fill is one colour, nothing, or something that
cannot be told from here.
"""

import colorsys
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.package import Package
from pipeline.parse.sight.colours import BLACK, RGB, WHITE, Colour, Paint, colour_of, encoded, linear, mixed, rgb_of

_HEX = re.compile("[0-9A-Fa-f]{6}")
_SYSTEM = {"window": WHITE, "windowText": BLACK}
_TRANSPARENCY = "{http://schemas.microsoft.com/office/word/2010/wordml}alpha"  # from opaque on ([MS-DOCX] 2.6)
_WHOLE = 100_000  # what percentages are counted in


@dataclass(frozen=True)
class Theme:
    """The colours of a theme by their names in its scheme: dk1, lt1, dk2, lt2, accent1 to accent6, hlink, folHlink.

    `names` are other names for them. Shapes and slides refer to `fills` and `backgrounds` by number.
    """

    scheme: Mapping[str, RGB]
    names: Mapping[str, str] = field(default_factory=dict)
    fills: Sequence[etree._Element] = ()
    backgrounds: Sequence[etree._Element] = ()

    def renamed(self, names: Mapping[str, str]) -> "Theme":
        """The theme with other names for its colours, as a colour map (p:clrMap) gives them: bg1 is lt1."""
        return replace(self, names=names)

    def colour(self, name: str) -> RGB | None:
        """The colour of a name in the theme; None where it has none."""
        return self.scheme.get(self.names.get(name, name))

    def paint(self, holder: etree._Element | None, around: Paint | None = None) -> Paint:
        """The paint of the first colour under an element; `around` is what its placeholder (phClr) stands for."""
        element = None if holder is None else next(iter(holder), None)
        if element is None:
            return Paint()
        name, value, paint = local_name(element.tag), attribute(element, "val"), Paint()
        if name == "schemeClr":
            paint = (around or paint) if value == "phClr" else Paint(self.colour(value))
        elif name == "sysClr":
            paint = Paint(rgb(attribute(element, "lastClr")) or _SYSTEM.get(value))
        elif name == "prstClr":
            found = colour_of(value.lower())
            paint = Paint(found if isinstance(found, tuple) else None)
        elif name == "srgbClr":
            paint = Paint(rgb(value))
        for change in element:
            paint = _changed(paint, change)
        return paint


def read_theme(package: Package, part: str) -> Theme:
    """The theme that a part relates to; black on white and nothing else where there is none."""
    found = [*package.related(part, "themeOverride"), *package.related(part, "theme")]
    if not found:
        return Theme({"dk1": BLACK, "lt1": WHITE})
    root = package.xml(found[0])
    lists = (list(next(root.iter(f"{{*}}{name}"), ())) for name in ("clrScheme", "fillStyleLst", "bgFillStyleLst"))
    colours, fills, backgrounds = lists
    paints = [(local_name(colour.tag), Theme({}).paint(colour).colour) for colour in colours]
    scheme = {name: colour for name, colour in paints if isinstance(colour, tuple)}
    return Theme(scheme, {}, fills, backgrounds)


def rgb(text: str | None) -> RGB | None:
    """The colour that six hexadecimal digits stand for; None for any other text."""
    if not text or not _HEX.fullmatch(text):
        return None
    red, green, blue = bytes.fromhex(text)
    return red, green, blue


def attribute(element: etree._Element, name: str) -> str:
    """An attribute by its name without a namespace, as DrawingML writes it, or in that of its element, as Word does."""
    space = element.tag.rpartition("}")[0]
    return element.get(name) or element.get(f"{space}}}{name}") or ""


def lightened(colour: RGB, change: Callable[[float], float]) -> RGB:
    """A colour with another lightness, of hue, lightness and saturation from 0 to 1."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in colour))
    return rgb_of(colorsys.hls_to_rgb(hue, min(max(change(lightness), 0.0), 1.0), saturation))


def _changed(paint: Paint, change: etree._Element) -> Paint:
    """A paint after one change (20.1.2.3): of its opacity, its lightness, or one that leaves its colour unknown."""
    (colour, opacity), name, share = paint, local_name(change.tag), _share(attribute(change, "val"))
    if share is None:
        return Paint(None, opacity)
    if name in {"alpha", "alphaMod", "alphaOff"}:
        share = 1 - share if change.tag == _TRANSPARENCY else share
        opacity = {"alpha": share, "alphaMod": opacity * share, "alphaOff": opacity + share}[name]
        return Paint(colour, min(max(opacity, 0.0), 1.0))
    if not isinstance(colour, tuple):
        return Paint(None, opacity)
    if name in {"lumMod", "lumOff"}:
        return Paint(lightened(colour, lambda one: one * share if name == "lumMod" else one + share), opacity)
    if name in {"tint", "shade"}:  # a share of the colour and the rest of white or black, mixed as light is
        rest = 1 - share if name == "tint" else 0.0
        return Paint(rgb_of(encoded(linear(part / 255) * share + rest) for part in colour), opacity)
    if name in {"satMod", "satOff"}:
        hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in colour))
        saturation = saturation * share if name == "satMod" else saturation + share
        return Paint(rgb_of(colorsys.hls_to_rgb(hue, lightness, min(max(saturation, 0.0), 1.0))), opacity)
    return Paint(None, opacity)


def _share(value: str) -> float | None:
    """A percentage as a share: "50000" and "50%" are 0.5; None for what is none."""
    try:
        number = float(value.removesuffix("%")) / (100 if value.endswith("%") else _WHOLE)
    except ValueError:
        return None
    return number if abs(number) < _WHOLE else None


UNKNOWN = "unknown"
"""The colour behind a text where it cannot be told; no text has this colour."""
_FILLS = {"noFill", "solidFill", "gradFill", "blipFill", "pattFill", "grpFill"}
_BACKGROUNDS = 1001  # from which number on a fill of the theme is one for backgrounds

Fill = list[Paint]
"""The paints of a fill: none for no fill, one for each stop of a gradient, UNCLEAR for pictures and patterns."""
UNCLEAR = Paint(None, 0.0)
"""The paint whose colour is not known, nor how much shines through it."""


def own_fill(properties: etree._Element | None, theme: Theme) -> Fill | None:
    """The fill among the properties of a shape, of letters, of a cell; None where they say nothing of it."""
    holders = () if properties is None else properties
    fill = next((child for child in holders if local_name(child.tag) in _FILLS), None)
    return None if fill is None else _read(fill, theme, None)


def shape_fill(shape: etree._Element, theme: Theme) -> Fill | None:
    """The fill of a shape: its own, else that of its style; None where neither says one."""
    found = own_fill(next(shape.iterchildren("{*}spPr", "{*}grpSpPr"), None), theme)
    reference = shape.find("{*}style/{*}fillRef")
    return styled_fill(reference, theme) if found is None and reference is not None else found


def styled_fill(reference: etree._Element, theme: Theme) -> Fill:
    """The fill of the theme that an element refers to by number, in the colour that it says."""
    number = whole_number(reference.get("idx"), 0)
    if number in {0, _BACKGROUNDS - 1}:
        return []
    fills = theme.fills if number < _BACKGROUNDS else theme.backgrounds
    place = (number - 1) % (_BACKGROUNDS - 1)
    return _read(fills[place], theme, theme.paint(reference)) if place < len(fills) else [UNCLEAR]


def over(fill: Fill | None, behind: Colour) -> Colour:
    """The colour behind a text whose fill lies over another colour; UNKNOWN where it is not one known colour."""
    if not fill:
        return behind
    colours = {one.colour if one.opacity >= 1 else mixed(one.colour, behind, one.opacity) for one in fill}
    return (colours.pop() if len(colours) == 1 else None) or UNKNOWN


def _read(fill: etree._Element, theme: Theme, around: Paint | None) -> Fill:
    name = local_name(fill.tag)
    if name == "noFill":
        return []
    if name == "solidFill":
        return [theme.paint(fill, around)]
    stops = [theme.paint(stop, around) for stop in fill.iter("{*}gs")] if name == "gradFill" else []
    return stops or [UNCLEAR]
