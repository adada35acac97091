"""What XLS and XLSB say of their cells beside the values: styles, formulas, and which rows and columns are hidden."""

import struct
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from pipeline.parse.office.drawing.theme import UNKNOWN, rgb
from pipeline.parse.office.sheets.cell_styles import PLAIN, CellStyle, Font, cell_style, of_signs
from pipeline.parse.office.sheets.conditions import Areas
from pipeline.parse.office.sheets.number_formats import PALETTE, number_format
from pipeline.parse.sight.colours import RGB, Colour

LOWEST = 40
"""Twentieths of a point: the height of a row that shows nothing."""
FILLED = 4
"""The alignment that repeats what a cell holds until the cell is full."""
NARROWEST = 51
"""Of 256 in a usual letter: the width of a column that shows nothing."""
_ZEROS = 0x10
PLACES = {1: "superscript", 2: "subscript"}


@dataclass
class Beside:
    """What a sheet says of its cells; rows and columns count from 0."""

    styles: dict[int, dict[int, CellStyle]] = field(default_factory=lambda: defaultdict(dict))
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)  # hidden ones
    columns: list[tuple[int, int]] = field(default_factory=list)  # the first and last of each hidden stretch
    merged: Areas[None] = field(default_factory=Areas)
    shows_zeros: bool = True
    shows_formulas: bool = False

    def read_view(self, flags: int, of_formulas: int) -> None:
        """Take up the flags of a window on the sheet, of which one stands for formulas in place of results."""
        self.shows_zeros &= bool(flags & _ZEROS)
        self.shows_formulas |= bool(flags & of_formulas)

    def style(self, row: int, column: int) -> CellStyle:
        """The style of a cell."""
        return self.styles[row].get(column, PLAIN) if row in self.styles else PLAIN

    def hides(self, row: int, column: int) -> str | None:
        """How the place of a cell hides it, if it does."""
        if row in self.rows or self._is_shut(column):
            return "hidden_row"
        covers = any(area[:2] != (row + 1, column + 1) for area, _ in self.merged.at(row + 1, column + 1) or ())
        return "covered" if covers else None

    def _is_shut(self, column: int) -> bool:
        place = bisect_right(self.columns, (column, 1 << 20))
        return any(first <= column <= last for first, last in self.columns[max(0, place - 8) : place])


class BookStyles:
    """The styles of a workbook by their number; colours may be told after what is drawn in them."""

    def __init__(self) -> None:
        self._fonts: list[tuple[Font, int | None]] = []  # with the number of its colour
        self._formats: dict[str, str] = {}
        self._styles: list[tuple[int, int, int | Colour | None, bool]] = []  # font, number format, fill or its number
        self._palette: list[RGB | None] = [rgb(one) for one in PALETTE]
        self._made: dict[int, CellStyle] = {}

    def of(self, number: int) -> CellStyle:
        """The style by its number; a plain one where there is none."""
        if number not in self._made:
            self._made[number] = self._make(*self._styles[number]) if number < len(self._styles) else PLAIN
        return self._made[number]

    def _make(self, font: int, code: int, fill: int | Colour | None, repeats: bool) -> CellStyle:
        letters, colour = self._fonts[font] if font < len(self._fonts) else (Font(), None)
        letters = letters if colour is None else letters._replace(colour=self._colour(colour))
        behind = (self._colour(fill) or UNKNOWN) if isinstance(fill, int) else fill
        made = cell_style(str(code), self._formats, letters, behind)
        return made._replace(repeats=True, format=made.format or number_format("")) if repeats else made

    def read_palette(self, data: bytes) -> None:
        """Take up the colours from number 8 on ([MS-XLS] 2.4.188)."""
        own: list[RGB | None] = [(data[at], data[at + 1], data[at + 2]) for at in range(2, len(data) - 3, 4)]
        self._palette[8 : 8 + len(own)] = own[: len(self._palette) - 8]

    def read_format(self, number: int, code: str) -> None:
        """Take up a number format."""
        self._formats[str(number)] = code

    def read_font(self, data: bytes) -> None:
        """Take up a font ([MS-XLS] 2.4.122)."""
        height, flags, colour, _, place = struct.unpack_from("<HHHHH", data)
        wide = 1 + (data[15:16] == b"\1")
        name = data[16 : 16 + wide * sum(data[14:15])].decode("utf-16-le" if wide == 2 else "latin-1", "replace")
        signs = of_signs(name, sum(data[12:13]))
        self.add_font(Font(None, height / 20, bool(flags & 8), PLACES.get(place), signs), colour)

    def add_font(self, font: Font, colour: int | None = None) -> None:
        """Take up a font that was read, with the number of its colour."""
        self._fonts.append((font, colour))

    def read_style(self, data: bytes) -> None:
        """Take up the format of cells ([MS-XLS] 2.4.353); of fonts there is no number 4."""
        font, number = struct.unpack_from("<HH", data)
        pattern, colours = struct.unpack_from("<IH", data, 14)
        fill = {0: None, 1: colours & 0x7F}.get(pattern >> 26, UNKNOWN)
        self.add_style(font - (font > 4), number, fill, repeats=data[6] & 7 == FILLED)

    def add_style(self, font: int, number: int, fill: int | Colour | None, *, repeats: bool) -> None:
        """Take up the format of cells, of a font and a number format by their numbers."""
        self._styles.append((font, number, fill, repeats))

    @property
    def strikes_parts(self) -> bool:
        """Whether there are struck-out letters that no cell as a whole has, so that parts of texts have them."""
        used = {font for font, _, _, _ in self._styles}
        return any(font.struck for place, (font, _) in enumerate(self._fonts) if place not in used)

    def _colour(self, number: int) -> RGB | None:
        return self._palette[number] if number < len(self._palette) else None
