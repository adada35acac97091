"""Formulas of XLS ([MS-XLS] 2.2.2 and 2.5.198) and XLSB ([MS-XLSB] 2.2.2) as they are written: "SUM(A1:A3)*2".

They are stored as a stack of tokens, whose operands follow each; in XLSB rows have four bytes and texts a longer count.
"""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline.parse.encoding import codepages
from pipeline.parse.office.cells import column_letters

_SIGNS = {0x03: "+", 0x04: "-", 0x05: "*", 0x06: "/", 0x07: "^", 0x08: "&", 0x09: "<", 0x0A: "<=", 0x0B: "=",
          0x0C: ">=", 0x0D: ">", 0x0E: "<>"}  # fmt: skip
_ERRORS = {0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A"}
_FUNCTIONS = {0: "COUNT", 1: "IF", 4: "SUM", 5: "AVERAGE", 6: "MIN", 7: "MAX", 36: "AND", 37: "OR", 169: "COUNTA",
              183: "PRODUCT", 228: "SUMPRODUCT", 336: "CONCATENATE", 359: "HYPERLINK", 480: "IFERROR"}  # fmt: skip
_FIXED = {19: ("PI", 0), 20: ("SQRT", 1), 24: ("ABS", 1), 25: ("INT", 1), 27: ("ROUND", 2), 32: ("LEN", 1),
          33: ("VALUE", 1), 34: ("TRUE", 0), 35: ("FALSE", 0), 38: ("NOT", 1), 39: ("MOD", 2), 48: ("TEXT", 2),
          212: ("ROUNDUP", 2), 213: ("ROUNDDOWN", 2)}  # fmt: skip
_LONGEST = 8_192


class Kind(NamedTuple):
    """What differs between the two formats: the format of a row, and how many rows a sheet has."""

    row: str
    rows: int

    @property
    def is_wide(self) -> bool:
        """Whether it is XLSB."""
        return self.row == "I"


XLS, XLSB = Kind("H", 1 << 16), Kind("I", 1 << 20)


class Unwritten(Exception):  # noqa: N818 - no error: the formula is left as unknown
    """The formula holds a token that is not read here."""


def written(tokens: bytes, kind: Kind, sheets: Sequence[str], base: tuple[int, int] = (0, 0)) -> str:
    """A formula as it is written, in the cell `base` (row and column from 0); "" where it holds what is not read.

    `sheets` are the sheets by the number by which tokens name them; "" is one that is not of this workbook.
    """
    try:
        return _Reading(tokens, kind, sheets, base).text()
    except (Unwritten, struct.error, LookupError):
        return ""


class _Reading:
    """A formula being read."""

    def __init__(self, tokens: bytes, kind: Kind, sheets: Sequence[str], base: tuple[int, int]) -> None:
        self._tokens = tokens
        self._at = self._token = 0
        self._kind = kind
        self._sheets = sheets
        self._base = base
        self._stack: list[str] = []

    def text(self) -> str:
        """The formula; raises Unwritten, struct.error, LookupError."""
        operands: dict[int, Callable[[], str]] = {
            0x16: lambda: "", 0x17: self._string, 0x1C: lambda: _ERRORS[self._take("B")],
            0x1D: lambda: "TRUE" if self._take("B") else "FALSE", 0x1E: lambda: str(self._take("H")),
            0x1F: lambda: repr(self._take("d")), 0x24: self._cell, 0x25: self._area, 0x2C: self._cell, 0x2D: self._area,
            0x3A: lambda: self._sheet() + self._cell(), 0x3B: lambda: self._sheet() + self._area(),
            0x21: self._fixed, 0x22: self._called,
        }  # fmt: skip
        while self._at < len(self._tokens):
            token = self._take("B")
            token = self._token = token if token < 0x20 else token & 0x1F | 0x20
            if token in _SIGNS:
                right, left = self._stack.pop(), self._stack.pop()
                self._push(f"{left}{_SIGNS[token]}{right}")
            elif token in {0x12, 0x13, 0x14, 0x15}:
                self._push({0x12: "+{}", 0x13: "-{}", 0x14: "{}%", 0x15: "({})"}[token].format(self._stack.pop()))
            elif token == 0x19:
                self._attribute()
            elif token in operands:
                self._push(operands[token]())
            else:
                raise Unwritten
        if len(self._stack) != 1:
            raise Unwritten
        return self._stack[0]

    def _push(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise Unwritten
        self._stack.append(text)

    def _take(self, form: str) -> int:
        (found,) = struct.unpack_from(f"<{form}", self._tokens, self._at)
        self._at += struct.calcsize(f"<{form}")
        return found  # type: ignore[no-any-return]

    def _string(self) -> str:
        count, wide = (self._take("H"), True) if self._kind.is_wide else (self._take("B"), bool(self._take("B") & 1))
        data = self._tokens[self._at : self._at + count * (1 + wide)]
        self._at += len(data)
        text = data.decode("utf-16-le", "replace") if wide else codepages.low_bytes(data)
        return '"' + text.replace('"', '""') + '"'

    def _attribute(self) -> None:
        """What makes formulas faster, or keeps the blanks in them; a sum of one operand is such, too."""
        flags, _ = self._take("B"), self._take("H")
        if flags & 0x04:
            raise Unwritten
        if flags & 0x10:
            self._push(f"SUM({self._stack.pop()})")

    def _fixed(self) -> str:
        name, count = _FIXED.get(self._take("H"), ("", -1))
        return self._with_arguments(name, count)

    def _called(self) -> str:
        count, function = self._take("B") & 0x7F, self._take("H") & 0x7FFF
        return self._with_arguments(_FUNCTIONS.get(function, ""), count)

    def _with_arguments(self, name: str, count: int) -> str:
        if not name or count > len(self._stack):
            raise Unwritten
        arguments = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return f"{name}({','.join(arguments)})"

    def _sheet(self) -> str:
        name = self._sheets[self._take("H")]
        if not name:
            raise Unwritten
        return "'" + name.replace("'", "''") + "'!"

    def _cell(self) -> str:
        return self._address(self._take(self._kind.row), self._take("H"))

    def _area(self) -> str:
        top, bottom, left, right = (self._take(form) for form in (self._kind.row, self._kind.row, "H", "H"))
        return f"{self._address(top, left)}:{self._address(bottom, right)}"

    def _address(self, row: int, column: int) -> str:
        """A cell; in formulas that cells share its place may be stated from the cell in which the formula stands."""
        columns = 1 << 14 if self._kind.is_wide else 1 << 8
        place = column & 0x3FFF
        if self._token in {0x2C, 0x2D}:
            row = (row + self._base[0]) % self._kind.rows if column & 0x8000 else row
            place = (place + self._base[1]) % columns if column & 0x4000 else place
        return f"{column_letters(place % columns + 1)}{row % self._kind.rows + 1}"
