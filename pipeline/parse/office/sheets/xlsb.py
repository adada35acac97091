"""The records of XLSB ([MS-XLSB]) that say how cells look: styles, formulas, hidden and merged cells."""

import struct
from collections.abc import Iterator

from pipeline.parse.office.drawing.theme import UNKNOWN
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.biff import FILLED, PLACES, BookStyles, Sheet
from pipeline.parse.office.sheets.biff_formulas import XLSB, written
from pipeline.parse.office.sheets.cell_styles import PLAIN, Font, of_signs

_ROW, _COLUMN, _MERGED, _SHEET, _CONDITIONS, _VIEW = 0, 60, 176, 156, 461, 137
_FORMAT, _FONT, _STYLE, _STYLES, _STYLES_END = 44, 43, 47, 617, 618
_DARK = 1  # the colour of a theme for text
_CELLS = dict.fromkeys(range(1, 12), 8)
_STRING = 8  # the first of the cells with formulas
_RESULT = {9: 8, 10: 1, 11: 1}  # bytes of a number, a truth, an error
_LEAST = {_ROW: 13, _COLUMN: 18, _MERGED: 16, _SHEET: 12, _VIEW: 2, _FORMAT: 6, _FONT: 20, _STYLE: 8, **_CELLS}
"""Bytes of a record, without which it is passed over."""


def read_workbook(data: bytes) -> dict[str, Sheet]:
    """What the sheets of a workbook say of their cells, by their names; raises DocumentError."""
    package, sheets, styles = Package(data), dict[str, Sheet](), BookStyles()
    relations = package.relations(package.main)
    for part in package.related(package.main, "styles"):
        _read_styles(package.bytes(part), styles)
    for kind, record in _records(package.bytes(package.main)):
        if kind == _SHEET:
            identifier, end = _text(record, 8)
            name, _ = _text(record, end)
            relation = relations.get(identifier)
            sheet = sheets[name] = Sheet(name, styles.strikes_parts)
            if relation is not None and package.has(relation.target):
                _read_sheet(package.bytes(relation.target), sheet, styles)
    return sheets


def _read_styles(data: bytes, styles: BookStyles) -> None:
    of_cells = False
    for kind, record in _records(data):
        of_cells = kind == _STYLES or (of_cells and kind != _STYLES_END)
        if kind == _FORMAT:
            styles.formats[str(int.from_bytes(record[:2], "little"))] = _text(record, 2)[0]
        elif kind == _FONT:  # 2.4.149; of the colours of a theme only that of text is known
            height, flags, _, place = struct.unpack_from("<HHHH", record)
            form, red, green, blue = record[12] >> 1, *record[16:19]
            colour = (red, green, blue) if form == 2 else None
            doubt = "a colour of the theme" if form == 3 and record[13] != _DARK else ""
            signs = of_signs(_text(record, 21)[0], record[10])
            styles.fonts.append((Font(colour, height / 20, bool(flags & 8), PLACES.get(place), signs, doubt), None))
        elif kind == _STYLE and of_cells:
            _, number, font, fill = struct.unpack_from("<HHHH", record)
            repeats = len(record) > 12 and record[12] & 7 == FILLED
            styles.styles.append((font, number, UNKNOWN if fill > 1 else None, repeats))


def _read_sheet(data: bytes, sheet: Sheet, styles: BookStyles) -> None:
    row = 0
    for kind, record in _records(data):
        if kind == _ROW:
            row, height = struct.unpack_from("<I4xH", record)
            sheet.read_row(row, record[11] & 0x10, height)
        elif kind in _CELLS:
            column, number = struct.unpack_from("<II", record)
            style = styles.of(number & 0xFFFFFF)
            if style != PLAIN:
                sheet.styles[row][column] = style
            if kind >= _STRING:  # the formula stands behind the result and two bytes of flags
                at = 8 + (_RESULT.get(kind) or 4 + 2 * int.from_bytes(record[8:12], "little")) + 2
                length = int.from_bytes(record[at : at + 4], "little")
                sheet.formulas[row, column] = written(record[at + 4 : at + 4 + length], XLSB, [])
        elif kind == _COLUMN:
            first, last, width, _, flags = struct.unpack_from("<IIIIH", record)
            sheet.read_columns(first, last, flags & 1, width)
        elif kind == _VIEW:
            sheet.read_view(record[0], 2)
        elif kind == _CONDITIONS:
            sheet.conditions += 1
        elif kind == _MERGED:
            top, bottom, left, right = struct.unpack_from("<IIII", record)
            sheet.merged.put((top + 1, left + 1, bottom + 1, right + 1), None)
    sheet.columns.sort()


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The records of a part (2.1.4): a type of one or two bytes, a length of up to four, seven bits in each; not those
    that are too short."""
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
        if len(data[at : at + length]) >= _LEAST.get(kind, 0):
            yield kind, data[at : at + length]
        at += length


def _text(record: bytes, at: int) -> tuple[str, int]:
    """A text behind its count of characters, and the place behind it."""
    end = at + 4 + 2 * int.from_bytes(record[at : at + 4], "little")
    return record[at + 4 : end].decode("utf-16-le", "replace"), end
