"""The styles of a workbook's cells (ISO/IEC 29500-1, 18.8): which numbers are dates, and which cells nobody sees."""

import re
from typing import NamedTuple

from lxml import etree

from pipeline.parse.office.cells import number_kind
from pipeline.parse.office.colours import WHITE, alike, hexadecimal
from pipeline.parse.office.package import Package, local_name, whole_number

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_BUILT_IN = {**dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 59)), "date"), 18: "time", 19: "time",
             20: "time", 21: "time", 22: "moment", 32: "time", 33: "time", 34: "time", 35: "time", 45: "time",
             47: "time",
             46: "duration"}  # fmt: skip
_DAYS_1904 = 1462
_NOTHING = re.compile(r"\s*;\s*;\s*;[\s;]*")  # a number format that shows neither numbers nor text
_INDEXED = {"0": "000000", "1": "FFFFFF", "8": "000000", "9": "FFFFFF"}  # of the palette, those that are asked for
_THEME = ("lt1", "dk1", "lt2", "dk2", "accent1", "accent2", "accent3", "accent4", "accent5", "accent6", "hlink",
          "folHlink")  # fmt: skip
_TINY = 1.0  # points


class CellStyle(NamedTuple):
    """What a number in the cell is (see `number_kind`), and how its text is hidden (of hidden.KINDS)."""

    kind: str = ""
    hides: str | None = None


_PLAIN = CellStyle()


class CellStyles:
    """The styles of a workbook by their number; `epoch` is the day 0 of its dates."""

    def __init__(self, package: Package, workbook: etree._Element) -> None:
        properties = workbook.find(S + "workbookPr")
        from_1904 = properties is not None and properties.get("date1904", "0") in {"1", "true"}
        self.epoch = _DAYS_1904 if from_1904 else 0
        self._styles: list[CellStyle] = []
        theme = _theme(package)
        for part in package.related(package.main, "styles"):
            root = package.xml(part)
            formats = {one.get("numFmtId", ""): _format(one.get("formatCode", "")) for one in root.iter(S + "numFmt")}
            fonts = [_font(font, theme) for font in root.iterfind(f"{S}fonts/{S}font")]
            fills = [_fill(fill, theme) for fill in root.iterfind(f"{S}fills/{S}fill")]
            self._styles += [_style(style, formats, fonts, fills) for style in root.iterfind(f"{S}cellXfs/{S}xf")]

    def of(self, number: str | None) -> CellStyle:
        """The style of a number; a plain one where there is none."""
        place = whole_number(number, 0)
        return self._styles[place] if place < len(self._styles) else _PLAIN


class _Font(NamedTuple):
    colour: str | None = None
    tiny: bool = False


def _format(code: str) -> CellStyle:
    return CellStyle(number_kind(code), "marked_hidden" if _NOTHING.fullmatch(code) else None)


def _style(
    style: etree._Element, formats: dict[str, CellStyle], fonts: list[_Font], fills: list[str | None]
) -> CellStyle:
    number = style.get("numFmtId", "0")
    own = formats.get(number, _PLAIN)
    kind = own.kind or _BUILT_IN.get(whole_number(number, 0), "")
    font, fill = whole_number(style.get("fontId"), 0), whole_number(style.get("fillId"), 0)
    text = fonts[font] if font < len(fonts) else _Font()
    if own.hides:
        return own
    if text.tiny:
        return CellStyle(kind, "tiny")
    return CellStyle(kind, "same_colour" if alike(text.colour, fills[fill] if fill < len(fills) else WHITE) else None)


def _font(font: etree._Element, theme: dict[str, str]) -> _Font:
    size = font.find(S + "sz")
    try:
        tiny = size is not None and float(size.get("val", "")) <= _TINY
    except ValueError:
        tiny = False
    return _Font(_colour(font.find(S + "color"), theme), tiny)


def _fill(fill: etree._Element, theme: dict[str, str]) -> str | None:
    """The colour behind a cell: white where nothing fills it, None for patterns and colours that are not known."""
    pattern = fill.find(S + "patternFill")
    if pattern is None:
        return None
    kind = pattern.get("patternType", "none")
    return WHITE if kind == "none" else _colour(pattern.find(S + "fgColor"), theme) if kind == "solid" else None


def _colour(colour: etree._Element | None, theme: dict[str, str]) -> str | None:
    if colour is None or colour.get("tint") not in {None, "0"}:
        return None
    if rgb := colour.get("rgb"):
        return hexadecimal(rgb[-6:])
    return theme.get(colour.get("theme", "")) or _INDEXED.get(colour.get("indexed", ""))


def _theme(package: Package) -> dict[str, str]:
    """The colours of the workbook's theme by their number."""
    named = {
        local_name(colour.tag): hexadecimal(one.get("lastClr") or one.get("val"))
        for part in package.related(package.main, "theme")
        for scheme in list(package.xml(part).iter("{*}clrScheme"))[:1]
        for colour in scheme
        for one in colour
    }
    return {str(place): colour for place, name in enumerate(_THEME) if (colour := named.get(name))}
