"""How the letters of a Word document look, as far as run properties say it (ISO/IEC 29500-1, 17.3.2; [MS-DOCX] 2.2).

A colour of the theme counts before the value that stands beside it. The fill of Word 2010 (w14:textFill) counts before
the colour for older programs. A property that is neither read here nor in _HARMLESS makes the text doubtful.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import local_name, whole_number
from pipeline.parse.office.drawing.theme import UNKNOWN, Theme, lightened, read_theme, rgb
from pipeline.parse.office.package import Package
from pipeline.parse.sight.colours import BLACK, TRANSPARENT, WHITE, Colour, Paint, mixed

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
OFF = {"0", "false", "off", "none"}
AUTO = Paint("auto")
"""The colour of text that adapts to what is behind it."""
_USUAL = 22  # half points
_MARKERS: dict[str, Colour] = {
    "none": TRANSPARENT, "white": WHITE, "black": BLACK, "yellow": (255, 255, 0), "green": (0, 255, 0),
    "cyan": (0, 255, 255), "magenta": (255, 0, 255), "blue": (0, 0, 255), "red": (255, 0, 0), "darkBlue": (0, 0, 128),
    "darkCyan": (0, 128, 128), "darkGreen": (0, 128, 0), "darkMagenta": (128, 0, 128), "darkRed": (128, 0, 0),
    "darkYellow": (128, 128, 0), "darkGray": (128, 128, 128), "lightGray": (192, 192, 192),
}  # fmt: skip
_NAMES = {"light1": "lt1", "dark1": "dk1", "light2": "lt2", "dark2": "dk2", "hyperlink": "hlink",
          "followedHyperlink": "folHlink"}  # fmt: skip
_MAPPED = {"bg1": ("lt1", "background1"), "t1": ("dk1", "text1"), "bg2": ("lt2", "background2"),
           "t2": ("dk2", "text2")}  # fmt: skip


class RunProperties(NamedTuple):
    """The looks that a document states for letters; None where it states none. Sizes are in half points, lengths in
    points; a `stretch` of 1 is none.

    `marker` and `fill` are behind the letters, the marker before the fill. `fonts` are that of ASCII and that of other
    letters; `lift` is "superscript", say. `doubt` is a property whose effect is not computed.
    """

    hidden: bool | None = None
    always_hidden: bool | None = None
    ink: Paint | None = None
    size: int | None = None
    complex_size: int | None = None
    is_complex: bool | None = None
    marker: Colour | None = None
    fill: Colour | None = None
    stretch: float | None = None
    spacing: float | None = None
    raised: float | None = None
    lift: str | None = None
    struck: bool | None = None
    struck_twice: bool | None = None
    fonts: tuple[str, str] | None = None
    doubt: str | None = None


PLAIN = RunProperties()


def read_look(properties: etree._Element | None, theme: Theme) -> RunProperties:
    """The looks that run properties (w:rPr) state themselves."""
    if properties is None:
        return PLAIN
    found: dict[str, Any] = {}
    for one in properties:
        if one.tag in _READERS:
            name, read = _READERS[one.tag]
            if name != "ink" or one.tag != W + "color" or "ink" not in found:
                found[name] = read(one, theme)
        elif one.tag not in _HARMLESS:
            kind = local_name(one[0].tag) if len(one) else ""
            if kind != "noFill" and (kind or not one.tag.startswith(W) or one.get(W + "val") not in OFF):
                found["doubt"] = local_name(one.tag)
    return PLAIN._replace(**found) if found else PLAIN


def over(own: RunProperties, inherited: RunProperties) -> RunProperties:
    """One look over another: what it does not say is inherited."""
    if own == PLAIN:
        return inherited
    return RunProperties._make(other if said is None else said for said, other in zip(own, inherited, strict=True))


def child(element: etree._Element | None, *names: str) -> etree._Element | None:
    """The first child of a name, then its child of the next one; None where there is none."""
    for name in names:
        element = None if element is None else element.find(W + name)
    return element


def value(element: etree._Element | None, *names: str) -> str | None:
    """The value (w:val) of such a child."""
    found = child(element, *names)
    return None if found is None else found.get(W + "val")


def read_fill(properties: etree._Element | None, theme: Theme) -> Colour | None:
    """The colour of the shading in properties; TRANSPARENT, UNKNOWN, None where there is no shading."""
    shading = child(properties, "shd")
    return None if shading is None else fill_of(shading, theme)


def fill_of(shading: etree._Element, theme: Theme) -> Colour:
    """The colour of a shading (w:shd): its fill, and over that a share of its pattern's colour."""
    pattern = shading.get(W + "val", "clear")
    fill = themed(shading, theme, "fill", "themeFill")
    if pattern in {"clear", "nil"}:
        return fill
    ink = themed(shading, theme, "color", "themeColor")
    ink, fill = BLACK if ink == TRANSPARENT else ink, WHITE if fill == TRANSPARENT and pattern != "solid" else fill
    share = 100 if pattern == "solid" else whole_number(pattern.removeprefix("pct"), -1)
    if share == 100:
        return ink
    return (mixed(ink, fill, share / 100) if 0 <= share < 100 else None) or UNKNOWN


def themed(element: etree._Element, theme: Theme, plain: str, named: str) -> Colour:
    """A colour of the theme, lighter or darker as the element says, else the plain one; TRANSPARENT for "auto"."""
    name = element.get(W + named)
    if name is None or name == "none":
        value = element.get(W + plain, "auto")
        return TRANSPARENT if value == "auto" else rgb(value) or UNKNOWN
    colour = theme.colour(name)
    if colour is None:
        return UNKNOWN
    prefix = "theme" if named == "themeColor" else named
    tint, shade = (_share_of_byte(element.get(f"{W}{prefix}{way}")) for way in ("Tint", "Shade"))
    if tint is not None:
        colour = lightened(colour, lambda one: one * tint + 1 - tint)
    return colour if shade is None else lightened(colour, lambda one: one * shade)


def word_theme(package: Package) -> Theme:
    """The theme of a document, by the names that its text uses; the settings say which colours are the background's."""
    names = dict(_NAMES)
    mapping: Mapping[str, str] = {}
    for part in package.related(package.main, "settings"):
        for found in package.xml(part).iterchildren(W + "clrSchemeMapping"):
            mapping = {local_name(key): str(value) for key, value in found.attrib.items()}
    for short, (usual, long) in _MAPPED.items():
        target = _NAMES.get(mapping.get(short, ""), mapping.get(short, usual))
        names |= {long: target, short.replace("t", "tx"): target}
    return read_theme(package, package.main).renamed(names)


def points(element: etree._Element, name: str, unit: float = 0.05) -> float | None:
    """An attribute in points, whose number counts `unit` points, usually twips; None where it is none or absurd."""
    text = element.get(W + name, "")
    digits = text.removeprefix("-")
    number = whole_number(digits, -1)
    return None if number < 0 else (-number if digits != text else number) * unit


def _share_of_byte(text: str | None) -> float | None:
    try:
        return min(int(text, 16), 255) / 255 if text and len(text) <= 2 else None
    except ValueError:
        return None


def _read_ink(element: etree._Element, theme: Theme) -> Paint:
    colour = themed(element, theme, "val", "themeColor")
    return AUTO if colour == TRANSPARENT else Paint(colour if isinstance(colour, tuple) else None)


def _read_text_fill(element: etree._Element, theme: Theme) -> Paint:
    """The fill of letters: none is TRANSPARENT, a gradient is not known."""
    kind = next((local_name(child.tag) for child in element), "solidFill")
    return Paint(TRANSPARENT) if kind == "noFill" else theme.paint(element.find(W14 + "solidFill"))


def _percent(text: str) -> float | None:
    percent = whole_number(text.removesuffix("%"), -1)
    return None if percent < 0 else percent / 100


def _read_fonts(element: etree._Element, _: Theme) -> tuple[str, str] | None:
    """The fonts of ASCII and of other letters; none of a theme has signs."""
    names = ["" if element.get(f"{W}{name}Theme") else element.get(W + name) for name in ("ascii", "hAnsi")]
    usual = next((name for name in names if name is not None), None)
    return None if usual is None else (usual if names[0] is None else names[0], usual if names[1] is None else names[1])


_HARMLESS_NAMES = (
    "rStyle b bCs i iCs caps smallCaps u lang kern noProof snapToGrid em effect webHidden oMath bdr ins del moveFrom "
    "moveTo rPrChange"
)
_HARMLESS = {
    *(W + name for name in _HARMLESS_NAMES.split()),
    *(W14 + name for name in ("ligatures", "numForm", "numSpacing", "stylisticSets", "cntxtAlts")),
}
"""Run properties that keep nobody from seeing a text."""


_SWITCHES = {"vanish": "hidden", "specVanish": "always_hidden", "cs": "is_complex", "rtl": "is_complex",
             "strike": "struck", "dstrike": "struck_twice"}  # fmt: skip
_Reader = Callable[[etree._Element, Theme], object]
_READERS: dict[str, tuple[str, _Reader]] = {
    **{
        W + name: (field, lambda element, _: element.get(W + "val", "1") not in OFF)
        for name, field in _SWITCHES.items()
    },
    W + "color": ("ink", _read_ink),
    W14 + "textFill": ("ink", _read_text_fill),
    W + "sz": ("size", lambda element, _: whole_number(element.get(W + "val"), _USUAL)),
    W + "szCs": ("complex_size", lambda element, _: whole_number(element.get(W + "val"), _USUAL)),
    W + "highlight": ("marker", lambda element, _: _MARKERS.get(element.get(W + "val", ""), UNKNOWN)),
    W + "shd": ("fill", fill_of),
    W + "w": ("stretch", lambda element, _: _percent(element.get(W + "val", ""))),
    W + "spacing": ("spacing", lambda element, _: points(element, "val")),
    W + "position": ("raised", lambda element, _: points(element, "val", 0.5)),
    W + "vertAlign": ("lift", lambda element, _: element.get(W + "val")),
    W + "rFonts": ("fonts", _read_fonts),
}
