"""Formulas of XLS ([MS-XLS] 2.2.2 and 2.5.198) and XLSB ([MS-XLSB] 2.2.2) as they are written: "SUM(A1:A3)*2".

They are stored as a stack of tokens, whose operands follow each; in XLSB rows have four bytes and texts a longer count.
"""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline.parse.encoding import codepages
from pipeline.parse.office.cells import column_letters
from pipeline.parse.office.sheets.values import UnknownError

_SIGNS = {0x03: "+", 0x04: "-", 0x05: "*", 0x06: "/", 0x07: "^", 0x08: "&", 0x09: "<", 0x0A: "<=", 0x0B: "=",
          0x0C: ">=", 0x0D: ">", 0x0E: "<>"}  # fmt: skip
_AROUND = {0x12: "+{}", 0x13: "-{}", 0x14: "{}%", 0x15: "({})"}
_ERRORS = {0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A"}
_FUNCTIONS = {0: "COUNT", 1: "IF", 4: "SUM", 5: "AVERAGE", 6: "MIN", 7: "MAX", 36: "AND", 37: "OR", 169: "COUNTA",
              183: "PRODUCT", 228: "SUMPRODUCT", 336: "CONCATENATE", 359: "HYPERLINK", 480: "IFERROR"}  # fmt: skip
_FIXED = {19: ("PI", 0), 20: ("SQRT", 1), 24: ("ABS", 1), 25: ("INT", 1), 27: ("ROUND", 2), 32: ("LEN", 1),
          33: ("VALUE", 1), 34: ("TRUE", 0), 35: ("FALSE", 0), 38: ("NOT", 1), 39: ("MOD", 2), 48: ("TEXT", 2),
          212: ("ROUNDUP", 2), 213: ("ROUNDDOWN", 2)}  # fmt: skip
_ATTRIBUTE = 0x19
_LONGEST = 8_192


class Kind(NamedTuple):
    """What differs between the two formats: the struct format of a row, and how many rows and columns a sheet has."""

    row: str
    rows: int
    columns: int


XLS, XLSB = Kind("H", 1 << 16, 1 << 8), Kind("I", 1 << 20, 1 << 14)


def written(tokens: bytes, kind: Kind, sheets: Sequence[str], base: tuple[int, int] = (0, 0)) -> str:
    """A formula as it is written, in the cell `base` (row and column from 0); "" where it holds what is not read.

    `sheets` are the sheets by the number by which tokens name them; "" is one that is not of this workbook.
    """
    try:
        return _Reading(tokens, kind, sheets, base).text()
    except (UnknownError, struct.error, LookupError):
        return ""


class _Reading:
    """A formula being read; its methods raise UnknownError, struct.error, LookupError."""

    def __init__(self, tokens: bytes, kind: Kind, sheets: Sequence[str], base: tuple[int, int]) -> None:
        self._tokens = tokens
        self._at = self._token = 0
        self._kind = kind
        self._sheets = sheets
        self._base = base
        self._stack: list[str] = []

    def text(self) -> str:
        """The formula."""
        take, stack = self._take, self._stack
        operands: dict[int, Callable[[], str]] = {
            0x16: lambda: "", 0x17: self._string, 0x1C: lambda: _ERRORS[take("B")],
            0x1D: lambda: "TRUE" if take("B") else "FALSE", 0x1E: lambda: str(take("H")),
            0x1F: lambda: repr(take("d")), 0x24: self._cell, 0x25: self._area, 0x2C: self._cell, 0x2D: self._area,
            0x3A: lambda: self._sheet() + self._cell(), 0x3B: lambda: self._sheet() + self._area(),
            0x21: lambda: self._call(*_FIXED[take("H")]),
            0x22: lambda: self._call(count=take("B") & 0x7F, name=_FUNCTIONS[take("H") & 0x7FFF]),
        }  # fmt: skip
        while self._at < len(self._tokens):
            token = take("B")
            self._token = token if token < 0x20 else token & 0x1F | 0x20
            if self._token in _SIGNS:
                right, left = stack.pop(), stack.pop()
                stack.append(f"{left}{_SIGNS[self._token]}{right}")
            elif self._token in _AROUND:
                stack.append(_AROUND[self._token].format(stack.pop()))
            elif self._token == _ATTRIBUTE:  # makes formulas faster, or keeps the blanks in them
                flags, _ = take("B"), take("H")
                if flags & 0x04:
                    raise UnknownError
                if flags & 0x10:
                    stack.append(f"SUM({stack.pop()})")
            else:
                stack.append(operands[self._token]())
            if stack and len(stack[-1]) > _LONGEST:
                raise UnknownError
        if len(stack) != 1:
            raise UnknownError
        return stack[0]

    def _take(self, form: str) -> int:
        (found,) = struct.unpack_from(f"<{form}", self._tokens, self._at)
        self._at += struct.calcsize(f"<{form}")
        return found  # type: ignore[no-any-return]

    def _string(self) -> str:
        count, wide = (self._take("H"), True) if self._kind == XLSB else (self._take("B"), bool(self._take("B") & 1))
        data = self._tokens[self._at : self._at + count * (1 + wide)]
        self._at += len(data)
        text = data.decode("utf-16-le", "replace") if wide else codepages.low_bytes(data)
        return '"' + text.replace('"', '""') + '"'

    def _call(self, name: str, count: int) -> str:
        if count > len(self._stack):
            raise UnknownError
        arguments = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return f"{name}({','.join(arguments)})"

    def _sheet(self) -> str:
        name = self._sheets[self._take("H")]
        if not name:
            raise UnknownError
        return "'" + name.replace("'", "''") + "'!"

    def _cell(self) -> str:
        return self._address(self._take(self._kind.row), self._take("H"))

    def _area(self) -> str:
        top, bottom, left, right = (self._take(form) for form in (self._kind.row, self._kind.row, "H", "H"))
        return f"{self._address(top, left)}:{self._address(bottom, right)}"

    def _address(self, row: int, column: int) -> str:
        """A cell; in formulas that cells share its place may be stated from the cell in which the formula stands."""
        _, rows, columns = self._kind
        place = column & 0x3FFF
        if self._token in {0x2C, 0x2D}:
            row = row + self._base[0] if column & 0x8000 else row
            place = place + self._base[1] if column & 0x4000 else place
        return f"{column_letters(place % columns + 1)}{row % rows + 1}"
