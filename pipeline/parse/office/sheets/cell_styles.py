"""The styles of a workbook's cells (ISO/IEC 29500-1, 18.8): which numbers are dates, which values show, how cells look.

A number format (18.8.31) has up to four sections: for what is positive, negative, zero, and for text; or for what a
condition holds. It may leave a value blank.
"""

import operator
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

from pipeline.parse.look.appearance import Appearance
from pipeline.parse.look.colours import BLACK, RGB, WHITE, Colour, mixed
from pipeline.parse.markup.reading import decimal, whole_number
from pipeline.parse.office.cells import number_kind
from pipeline.parse.office.drawing.theme import UNKNOWN, lightened, read_theme, rgb
from pipeline.parse.office.package import Package

_PIECE = re.compile(r'"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]|[^"\\_*\[]', re.DOTALL)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?\d+(?:\.\d+)?)\]")
_COLOUR_ALONE = re.compile(r"(?:\[[^\]$]*\])+")
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<>": operator.ne, "<": operator.lt, ">": operator.gt,
            "=": operator.eq}  # fmt: skip
_AS_IT_STANDS = "General"


class NumberFormat:
    """A number format, made from its code."""

    def __init__(self, code: str) -> None:
        sections = _sections(code or _AS_IT_STANDS)
        text = sections.pop() if len(sections) > 3 or "@" in _without_literals(sections[-1]) else "@"
        self._numbers = sections[:3] or [_AS_IT_STANDS]
        self.shows_text = bool({"@", _AS_IT_STANDS} & set(_letters(text)))
        self._is_plain = all(map(_shows, self._numbers))

    @property
    def shows_all(self) -> bool:
        """Whether the format leaves no value blank."""
        return self.shows_text and self._is_plain

    def shows(self, number: float) -> bool:
        """Whether the format shows anything of a number."""
        return self._is_plain or _shows(self._section(number))

    def _section(self, number: float) -> str:
        sections = self._numbers
        conditions = [_CONDITION.search(section) for section in sections]
        if any(conditions[:2]):
            for section, condition in zip(sections[:2], conditions, strict=False):
                if condition and _COMPARE[condition[1]](number, float(condition[2])):
                    return section
            return sections[-1]
        place = 1 if number < 0 else 2 if number == 0 else 0
        return sections[place] if place < len(sections) else sections[0]


@lru_cache(1024)
def number_format(code: str) -> NumberFormat:
    """The number format of a code, remembered."""
    return NumberFormat(code)


def _sections(code: str) -> list[str]:
    """The sections of a code, divided at semicolons that are no literals; what follows the fourth is ignored."""
    sections = [""]
    for piece in _PIECE.findall(code):
        if piece == ";":
            sections.append("")
        else:
            sections[-1] += piece
    return sections[:4]


def _letters(section: str) -> list[str]:
    """The signs of a section that stand for the value itself, which a colour alone shows as it stands."""
    if _COLOUR_ALONE.fullmatch(section):
        return [_AS_IT_STANDS]
    plain = _without_literals(section)
    return [_AS_IT_STANDS] if "general" in plain.lower() else list(plain.replace(" ", ""))


def _without_literals(section: str) -> str:
    return "".join(piece for piece in _PIECE.findall(section) if len(piece) == 1)


def _shows(section: str) -> bool:
    """Whether a section draws anything: digits, parts of dates, signs; spaces and widths of letters are nothing."""
    return bool(_COLOUR_ALONE.fullmatch(section)) or any(map(_is_seen, _PIECE.findall(section)))


def _is_seen(piece: str) -> bool:
    if piece.startswith("["):
        return (piece.startswith("[$") and bool(piece[2:].partition("-")[0].strip("] "))) or piece.lower() in _DURATIONS
    return not piece.startswith("_") and bool(piece.removeprefix("\\").removeprefix("*").strip('" \xa0'))


_DURATIONS = {"[h]", "[hh]", "[m]", "[mm]", "[s]", "[ss]"}


S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_BUILT_IN = {**dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 59)), "date"), 18: "time", 19: "time",
             20: "time", 21: "time", 22: "moment", 32: "time", 33: "time", 34: "time", 35: "time", 45: "time",
             47: "time",
             46: "duration"}  # fmt: skip
_DAYS_1904 = 1462
_BASIC = "000000 FFFFFF FF0000 00FF00 0000FF FFFF00 FF00FF 00FFFF"
_PALETTE = (
    f"{_BASIC} {_BASIC} 800000 008000 000080 808000 800080 008080 C0C0C0 808080 9999FF 993366 FFFFCC CCFFFF 660066 "
    "FF8080 0066CC CCCCFF 000080 FF00FF FFFF00 00FFFF 800080 800000 008080 0000FF 00CCFF CCFFFF CCFFCC FFFF99 99CCFF "
    "FF99CC CC99FF FFCC99 3366FF 33CCCC 99CC00 FFCC00 FF9900 FF6600 666699 969696 003366 339966 003300 333300 993300 "
    "993366 333399 333333 000000 FFFFFF"
).split()  # 18.8.27; 64 and 65 are the colours of the system
_THEME = ("lt1", "dk1", "lt2", "dk2", "accent1", "accent2", "accent3", "accent4", "accent5", "accent6", "hlink",
          "folHlink")  # fmt: skip
_SHARES = {"darkGray": 0.75, "mediumGray": 0.5, "lightGray": 0.25, "gray125": 0.125, "gray0625": 0.0625}


class Font(NamedTuple):
    """The colour of letters and their size in points; None where nothing states it."""

    colour: Colour | None = None
    size: float | None = None

    def over(self, other: "Font") -> "Font":
        """This font where it says something, else the other one."""
        return Font(self.colour or other.colour, other.size if self.size is None else self.size)


class CellStyle(NamedTuple):
    """The style of a cell: the kind of its numbers (see `number_kind`), their format, its letters, its ground.

    `fill` is None where nothing fills the cell, UNKNOWN where that cannot be told.
    """

    kind: str = ""
    format: NumberFormat | None = None
    font: Font = Font()
    fill: Colour | None = None

    def under(self, change: "CellStyle") -> "CellStyle":
        """This style with what another one says over it, as a condition does."""
        return CellStyle(
            change.kind or self.kind, change.format or self.format, change.font.over(self.font),
            self.fill if change.fill is None else change.fill,
        )  # fmt: skip

    def hides(self, number: float | None, font: Font, paper: Colour) -> str | None:
        """How a number, or text for None, in letters of a font is hidden on a sheet of a colour, if it is."""
        if not (self.format is None or (self.format.shows_text if number is None else self.format.shows(number))):
            return "marked_hidden"
        return _hides(font, paper if self.fill is None else self.fill)


PLAIN = CellStyle()


class CellStyles:
    """The styles of a workbook by their number; `epoch` is the day 0 of its dates; `changes` those of conditions."""

    def __init__(self, package: Package, workbook: etree._Element) -> None:
        properties = workbook.find(S + "workbookPr")
        from_1904 = properties is not None and properties.get("date1904", "0") in {"1", "true"}
        self.epoch = _DAYS_1904 if from_1904 else 0
        self.theme = read_theme(package, package.main)
        self.changes: list[CellStyle] = []
        self._palette: list[RGB | None] = [rgb(one) for one in _PALETTE]
        self._styles: list[CellStyle] = []
        for part in package.related(package.main, "styles"):
            self._read(package.xml(part))

    def of(self, number: str | None) -> CellStyle:
        """The style by its number in the workbook; a plain one where there is none."""
        place = whole_number(number, 0)
        return self._styles[place] if place < len(self._styles) else PLAIN

    def font(self, element: etree._Element | None) -> Font:
        """The colour and size that a font (of a cell, of a run of rich text, of a condition) states."""
        if element is None:
            return Font()
        size = element.find(S + "sz")
        return Font(self._colour(element.find(S + "color")), None if size is None else decimal(size.get("val")))

    def _read(self, root: etree._Element) -> None:
        own = [rgb(one.get("rgb", "")[-6:]) for one in root.iterfind(f"{S}colors/{S}indexedColors/{S}rgbColor")]
        self._palette[: len(own)] = own[: len(self._palette)]
        formats = {one.get("numFmtId", ""): one.get("formatCode", "") for one in root.iterfind(f"{S}numFmts/{S}numFmt")}
        fonts = [self.font(font) for font in root.iterfind(f"{S}fonts/{S}font")]
        fills = [self._fill(fill) for fill in root.iterfind(f"{S}fills/{S}fill")]
        for style in root.iterfind(f"{S}cellXfs/{S}xf"):
            number = style.get("numFmtId", "0")
            font, fill = whole_number(style.get("fontId"), 0), whole_number(style.get("fillId"), 0)
            letters, behind = (*fonts, Font())[min(font, len(fonts))], (*fills, None)[min(fill, len(fills))]
            self._styles.append(_style(number, formats, letters, behind))
        for change in root.iterfind(f"{S}dxfs/{S}dxf"):
            code, fill = change.find(S + "numFmt"), change.find(S + "fill")
            said = {} if code is None else {"": code.get("formatCode", "")}
            behind = None if fill is None else self._fill(fill, is_change=True)
            self.changes.append(_style("", said, self.font(change.find(S + "font")), behind))

    def _fill(self, fill: etree._Element, *, is_change: bool = False) -> Colour | None:
        """The colour behind a cell. A condition's plain fill is in the place of the background of a pattern."""
        pattern = fill.find(S + "patternFill")
        if pattern is None:
            stops = {self._colour(one.find(S + "color")) for one in fill.iter(S + "stop")}
            return (stops.pop() if len(stops) == 1 else None) or UNKNOWN
        kind = pattern.get("patternType", "solid" if is_change else "none")
        if kind == "none":
            return None
        front, back = self._colour(pattern.find(S + "fgColor")), self._colour(pattern.find(S + "bgColor"))
        if kind == "solid":
            return (back if is_change and back else front) or UNKNOWN
        return mixed(front or BLACK, back or WHITE, _SHARES[kind]) or UNKNOWN if kind in _SHARES else UNKNOWN

    def _colour(self, colour: etree._Element | None) -> RGB | None:
        if colour is None:
            return None
        place = whole_number(colour.get("indexed", colour.get("theme")), len(_PALETTE))
        if value := colour.get("rgb"):
            found = rgb(value[-6:])
        elif colour.get("theme") is not None:
            found = self.theme.colour(_THEME[place]) if place < len(_THEME) else None
        else:
            found = self._palette[place] if place < len(_PALETTE) else None
        return found if found is None else _tinted(found, colour.get("tint"))


@lru_cache(4096)
def _hides(font: Font, behind: Colour) -> str | None:
    return Appearance(colour=font.colour, background=behind, size=font.size).hides


def _style(number: str, formats: Mapping[str, str], font: Font, fill: Colour | None) -> CellStyle:
    code = formats.get(number)
    found = None if code is None else number_format(code)
    kind = number_kind(code or "") or _BUILT_IN.get(whole_number(number, 0), "")
    return CellStyle(kind, None if found is None or found.shows_all else found, font, fill)


def _tinted(colour: RGB, tint: str | None) -> RGB | None:
    """A colour made darker (a tint from -1) or lighter (up to 1) by its lightness (18.8.19)."""
    share = decimal(tint or "0")
    if not share:
        return colour if share == 0 else None
    if not -1 <= share <= 1:
        return None
    return lightened(colour, lambda one: one * (1 + share) if share < 0 else one + (1 - one) * share)
