"""The styles of a workbook's cells (ISO/IEC 29500-1, 18.8): what they show of their values, and how they look."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

from pipeline.parse.markup.reading import decimal, local_name, whole_number
from pipeline.parse.office.cells import number_text
from pipeline.parse.office.drawing.theme import UNKNOWN, lightened, read_theme, rgb
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.number_formats import PALETTE, NumberFormat, Shown, number_format
from pipeline.parse.sight.colours import BLACK, RGB, WHITE, Colour, mixed
from pipeline.parse.sight.look import Appearance
from pipeline.parse.sight.raised import lowered, raised, struck
from pipeline.parse.sight.symbols import has_signs, shown_in

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MONEY = "#,##0{0}_);(#,##0{0})"  # its sign depends on the computer
_ACCOUNTS = '_(* #,##0{0}_);_(* (#,##0{0});_(* "-"??_);_(@_)'
_DATE, _TIME = "yyyy-mm-dd", "hh:mm:ss"
_BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    48: "##0.0E+0", 49: "@", 22: f"{_DATE} {_TIME}", 46: "[h]:mm:ss",
    **dict.fromkeys((5, 6, 37, 38), _MONEY.format("")), **dict.fromkeys((7, 8, 39, 40), _MONEY.format(".00")),
    **dict.fromkeys((41, 42), _ACCOUNTS.format("")), **dict.fromkeys((43, 44), _ACCOUNTS.format(".00")),
    **dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 59)), _DATE),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47), _TIME),
}  # fmt: skip
_DAYS_1904 = 1462
_OF_SIGNS = 2  # a character set
_THEME = ("lt1", "dk1", "lt2", "dk2", "accent1", "accent2", "accent3", "accent4", "accent5", "accent6", "hlink",
          "folHlink")  # fmt: skip
_OF_FONT = {"b", "i", "u", "color", "sz", "strike", "vertAlign", "charset", "name", "rFont", "family", "scheme"}
"""Properties of letters that are computed, or keep nobody from seeing a text; outlines and shadows are none."""
_ALIGNED = re.compile(
    r"(horizontal|vertical|wrapText|textRotation|justifyLastLine|readingOrder|relativeIndent)=.*|indent=1?\d|"
    r"shrinkToFit=(0|false)"
)
_SHARES = {"darkGray": 0.75, "mediumGray": 0.5, "lightGray": 0.25, "gray125": 0.125, "gray0625": 0.0625}


Sight = tuple[str | None, str]
"""How a text is hidden (a kind of hidden.KINDS), if it is, and what touches it whose effect is not computed, if any."""


class Font(NamedTuple):
    """The colour of letters, their size in points, whether a line goes through them, and whether they are raised or
    lowered ("superscript", "subscript"); None where nothing states it. `signs` is a font of signs (see `of_signs`)."""

    colour: Colour | None = None
    size: float | None = None
    struck: bool | None = None
    place: str | None = None
    signs: tuple[str, bool] | None = None
    doubt: str = ""

    def over(self, other: "Font") -> "Font":
        """This font where it says something, else the other one."""
        return other._replace(**{name: said for name, said in self._asdict().items() if said not in {None, ""}})

    def marks(self, text: str) -> str:
        """A text in these letters with what says that it is struck out, raised or lowered."""
        if self.signs is not None or not text.isascii():
            name, of_signs = self.signs or ("", False)
            text = shown_in(name, text, of_signs=of_signs)
        if self.place is None and not self.struck:
            return text  # as nearly all are
        if self.place is not None:
            text = {"superscript": raised, "subscript": lowered}.get(self.place, str)(text)
        return struck(text) if self.struck else text


def of_signs(name: str, charset: int) -> tuple[str, bool] | None:
    """The font by its name, and whether its character set says that it has signs alone; None for a font of letters."""
    return (name, charset == _OF_SIGNS) if charset == _OF_SIGNS or has_signs(name) else None


class CellStyle(NamedTuple):
    """The style of a cell: its number format, None where values are shown as they are; its letters; its ground.

    `fill` is None where nothing fills the cell, UNKNOWN where that cannot be told. `repeats`: what is shown is repeated
    until the cell is full of it.
    """

    format: NumberFormat | None = None
    font: Font = Font()
    fill: Colour | None = None
    repeats: bool = False
    doubt: str = ""  # what may hide the text in a way that is not computed

    def under(self, change: "CellStyle") -> "CellStyle":
        """This style with what another one says over it, as a condition does."""
        return CellStyle(
            change.format or self.format, change.font.over(self.font),
            self.fill if change.fill is None else change.fill, self.repeats, self.doubt or change.doubt,
        )  # fmt: skip

    def sight(self, number: float | None, font: Font, paper: Colour, line: float | None = None) -> Sight:
        """How a number, or text for None, in letters of a font is seen on a sheet of a colour, in a row of a height."""
        if self.format is not None and not self.format.is_plain:
            if not self.format.shows(number):
                return "marked_hidden", ""
            font = font._replace(colour=self.format.colour(number) or font.colour)
        return _sight(font.colour, font.size, paper if self.fill is None else self.fill, line, self.doubt or font.doubt)

    def show(self, number: float | None, stored: str, epoch: int) -> Shown:
        """What the cell shows of a number, or of text for None."""
        if self.format is None:
            return Shown(stored if number is None else number_text(stored, "", epoch))
        shown = self.format.show_text(stored) if number is None else self.format.show(number, stored, epoch)
        return Shown(shown.text, any(map(str.isnumeric, shown.text))) if self.repeats else shown


PLAIN = CellStyle()


class CellStyles:
    """The styles of a workbook by their number; `epoch` is the day 0 of its dates; `changes` those of conditions."""

    def __init__(self, package: Package, workbook: etree._Element) -> None:
        properties = workbook.find(S + "workbookPr")
        from_1904 = properties is not None and properties.get("date1904", "0") in {"1", "true"}
        self.epoch = _DAYS_1904 if from_1904 else 0
        self.theme = read_theme(package, package.main)
        self.changes: list[CellStyle] = []
        self._palette: list[RGB | None] = [rgb(one) for one in PALETTE]
        self._styles: list[CellStyle] = []
        self._known: dict[str | None, CellStyle] = {}
        for part in package.related(package.main, "styles"):
            self._read(package.xml(part))

    def of(self, number: str | None) -> CellStyle:
        """The style by its number in the workbook; a plain one where there is none."""
        if number not in self._known:
            place = whole_number(number, 0)
            self._known[number] = self._styles[place] if place < len(self._styles) else PLAIN
        return self._known[number]

    def in_table(self, style: CellStyle) -> CellStyle:
        """A style in a table with a style of its own, which colours letters that have the usual colour."""
        usual = self._styles[0].font.colour if self._styles else None
        return style._replace(font=style.font._replace(colour=None)) if style.font.colour == usual else style

    def font(self, element: etree._Element | None) -> Font:
        """The colour and size that a font (of a cell, of a run of rich text, of a condition) states."""
        if element is None:
            return Font()
        colour = element.find(S + "color")
        found = self._colour(colour)
        odd = next((name for one in element if (name := local_name(str(one.tag))) not in _OF_FONT), "")
        if colour is not None and found is None and not (colour.get("auto") or colour.get("indexed")):
            odd = odd or "its colour"
        size, line, place, charset = (element.find(S + name) for name in ("sz", "strike", "vertAlign", "charset"))
        named = next(element.iterchildren(S + "name", S + "rFont"), None)
        kind = 0 if charset is None else whole_number(charset.get("val"), 0)
        return Font(
            found,
            None if size is None else decimal(size.get("val")),
            None if line is None else line.get("val", "1") in {"1", "true"},
            None if place is None else place.get("val"),
            None if named is None else of_signs(named.get("val", ""), kind),
            odd,
        )

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
            alignment = style.find(S + "alignment")
            said = {} if alignment is None else dict(alignment.attrib)
            odd = [str(key) for key, value in said.items() if not _ALIGNED.fullmatch(f"{key}={value}")]
            made = cell_style(number, formats, letters, behind, repeats=said.get("horizontal") == "fill")
            self._styles.append(made._replace(doubt=odd[0]) if odd else made)
        for change in root.iterfind(f"{S}dxfs/{S}dxf"):
            code, fill = change.find(S + "numFmt"), change.find(S + "fill")
            said = {} if code is None else {"": code.get("formatCode", "")}
            behind = None if fill is None else self._fill(fill, is_change=True)
            self.changes.append(cell_style("", said, self.font(change.find(S + "font")), behind))

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

    def colours(self, element: etree._Element) -> list[CellStyle]:
        """The changes that colours named under a condition may make: as what fills the cell, as its letters."""
        named = (one for one in element.iter() if one.keys() and local_name(str(one.tag)).lower().endswith("color"))
        found = [self._colour(one) for one in named]
        fills = [CellStyle(fill=colour or UNKNOWN) for colour in found]
        return fills + [CellStyle(font=Font(colour=colour)) for colour in found if colour is not None]

    def _colour(self, colour: etree._Element | None) -> RGB | None:
        if colour is None:
            return None
        place = whole_number(colour.get("indexed", colour.get("theme")), len(PALETTE))
        if value := colour.get("rgb"):
            found = rgb(value[-6:])
        elif colour.get("theme") is not None:
            found = self.theme.colour(_THEME[place]) if place < len(_THEME) else None
        else:
            found = self._palette[place] if place < len(PALETTE) else None
        share = decimal(colour.get("tint") or "0")  # darker (from -1) or lighter (up to 1) by its lightness (18.8.19)
        if found is None or share == 0:
            return found
        if share is None or not -1 <= share <= 1:
            return None
        return lightened(found, lambda one: one * (1 + share) if share < 0 else one + (1 - one) * share)


@lru_cache(4096)
def _sight(colour: Colour | None, size: float | None, behind: Colour, line: float | None, doubt: str) -> Sight:
    if colour is not None and behind == UNKNOWN:
        doubt = doubt or "the colour behind it"
    look = Appearance(colour=colour, background=behind, size=size, line=line, doubt=doubt)
    return look.hides, look.doubts


def cell_style(
    number: str, formats: Mapping[str, str], font: Font, fill: Colour | None, *, repeats: bool = False
) -> CellStyle:
    """The style of a cell with a number format by its number, whose own codes are in `formats`."""
    code = formats.get(number) or _BUILT_IN.get(whole_number(number, 0), "")
    shown = None if code in {"", "General"} and not repeats else number_format(code)
    return CellStyle(shown, font, fill, repeats)
