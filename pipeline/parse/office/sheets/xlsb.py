"""The records of XLSB ([MS-XLSB]) that say how cells look: styles, formulas, hidden and merged cells."""

import struct
from collections.abc import Iterator

from pipeline.parse.office.cells import column_letters
from pipeline.parse.office.drawing.theme import UNKNOWN
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.biff import Sheet
from pipeline.parse.office.sheets.biff_cells import FILLED, LOWEST, NARROWEST, PLACES, BookStyles
from pipeline.parse.office.sheets.biff_formulas import XLSB, written
from pipeline.parse.office.sheets.cell_styles import PLAIN, Font, of_signs

_ROW, _COLUMN, _MERGED, _SHEET, _CONDITIONS = 0, 60, 176, 156, 461
_FORMAT, _FONT, _STYLE, _STYLES, _STYLES_END = 44, 43, 47, 617, 618
_VIEW = 137
_CELLS = range(1, 12)
_STRING, _NUMBER, _TRUTH, _ERROR = 8, 9, 10, 11  # of formulas
_RESULT = {_NUMBER: 8, _TRUTH: 1, _ERROR: 1}


def read_workbook(data: bytes) -> dict[str, Sheet]:
    """What the sheets of a workbook say of their cells, by their names; raises DocumentError."""
    package, sheets = Package(data), dict[str, Sheet]()
    styles, relations = BookStyles(), package.relations(package.main)
    for part in package.related(package.main, "styles"):
        _read_styles(package.bytes(part), styles)
    for kind, record in _records(package.bytes(package.main)):
        if kind == _SHEET and len(record) >= 12:
            identifier, end = _text(record, 8)
            name, _ = _text(record, end)
            relation = relations.get(identifier)
            sheet = sheets[name] = Sheet(name, strikes_parts=styles.strikes_parts)
            if relation is not None and package.has(relation.target):
                _read_sheet(package.bytes(relation.target), sheet, styles)
    return sheets


def _read_styles(data: bytes, styles: BookStyles) -> None:
    of_cells = False
    for kind, record in _records(data):
        of_cells = kind == _STYLES or (of_cells and kind != _STYLES_END)
        if kind == _FORMAT and len(record) >= 6:
            styles.read_format(int.from_bytes(record[:2], "little"), _text(record, 2)[0])
        elif kind == _FONT and len(record) >= 20:
            styles.add_font(_font(record))
        elif kind == _STYLE and of_cells and len(record) >= 8:
            _, number, font, fill = struct.unpack_from("<HHHH", record)
            repeats = len(record) > 12 and record[12] & 7 == FILLED
            styles.add_style(font, number, UNKNOWN if fill > 1 else None, repeats=repeats)


def _font(record: bytes) -> Font:
    """A font (2.4.149); colours of a theme or palette are not read."""
    height, flags, _, place = struct.unpack_from("<HHHH", record)
    kind, red, green, blue = record[12] >> 1, *record[16:19]
    colour = (red, green, blue) if kind == 2 else None
    length = int.from_bytes(record[21:25], "little")
    signs = of_signs(record[25 : 25 + 2 * length].decode("utf-16-le", "replace"), record[10])
    return Font(colour, height / 20, bool(flags & 8), PLACES.get(place), signs)


def _read_sheet(data: bytes, sheet: Sheet, styles: BookStyles) -> None:
    row, beside = 0, sheet.beside
    for kind, record in _records(data):
        if kind == _ROW and len(record) >= 13:
            row, height, flags = *struct.unpack_from("<I4xH", record), record[11]
            if flags & 0x10 or 0 < height <= LOWEST:
                beside.rows.add(row)
        elif kind in _CELLS and len(record) >= 8:
            column, number = struct.unpack_from("<II", record)
            style = styles.of(number & 0xFFFFFF)
            if style != PLAIN:
                beside.styles[row][column] = style
            if kind >= _STRING:
                beside.formulas[row, column] = _formula(kind, record)
        elif kind == _COLUMN and len(record) >= 18:
            first, last, width, _, flags = struct.unpack_from("<IIIIH", record)
            if flags & 1 or width <= NARROWEST:
                beside.columns.append((first, last))
        elif kind == _VIEW and len(record) >= 2:
            beside.read_view(record[0], 2)
        elif kind == _CONDITIONS:
            sheet.conditions += 1
        elif kind == _MERGED and len(record) >= 16:
            top, bottom, left, right = struct.unpack_from("<IIII", record)
            beside.merged.add(f"{column_letters(left + 1)}{top + 1}:{column_letters(right + 1)}{bottom + 1}", None)
    beside.columns.sort()


def _formula(kind: int, record: bytes) -> str:
    """The formula behind a cell's result and two bytes of flags."""
    at = 8 + (_RESULT[kind] if kind in _RESULT else 4 + 2 * int.from_bytes(record[8:12], "little")) + 2
    length = int.from_bytes(record[at : at + 4], "little")
    return written(record[at + 4 : at + 4 + length], XLSB, [])


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The records of a part (2.1.4): a type of one or two bytes, a length of up to four, seven bits in each."""
    at = 0
    while at < len(data):
        kind, at = data[at], at + 1
        if kind & 0x80 and at < len(data):
            kind, at = kind & 0x7F | data[at] << 7, at + 1
        length = shift = 0
        while at < len(data) and shift < 28:
            length, shift, at = length | (data[at] & 0x7F) << shift, shift + 7, at + 1
            if data[at - 1] < 0x80:
                break
        yield kind, data[at : at + length]
        at += length


def _text(record: bytes, at: int) -> tuple[str, int]:
    """A text behind its count of characters, and the place behind it."""
    end = at + 4 + 2 * int.from_bytes(record[at : at + 4], "little")
    return record[at + 4 : end].decode("utf-16-le", "replace"), end
