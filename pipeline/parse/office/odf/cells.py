"""Cells of OpenDocument spreadsheets (ODF 1.3, part 3, 9.1.4; part 4): what is stored, computed and shown."""

import re

from lxml import etree

from pipeline.parse.office.odf.document import attribute, full, named, repeats
from pipeline.parse.office.sheets.grid import Formula, Grid, Stored

_NUMBERS = {"float", "percentage", "currency"}
_PREFIX = re.compile(r"^(?:of:|oooc:|msoxl:)?=")
_BRACKETS = re.compile(r'"(?:[^"]|"")*"|\[([^\]]*)\]')
_ADDRESS = re.compile(r"\$?('(?:[^']|'')*'|[^.:'$\[\]]*)\.(\$?[A-Za-z]+\$?\d*)")
_MOST = 1_000_000  # cells of a sheet that formulas may refer to


def a1_formula(formula: str) -> str:
    """A formula of OpenDocument with addresses as spreadsheets in Office Open XML write them."""
    return _BRACKETS.sub(lambda found: found[0] if found[1] is None else _a1(found[1]), _PREFIX.sub("", formula))


def _a1(address: str) -> str:
    """ "$Sheet2.A1:.B3" as "Sheet2!A1:B3"."""
    parts = list(_ADDRESS.finditer(address))
    if not parts or ":".join(part[0] for part in parts) != address.replace("$$", "$"):
        return "#REF!" if "#REF!" in address else "?"
    sheet = parts[0][1].strip("'")
    return (f"'{sheet}'!" if sheet else "") + ":".join(part[2] for part in parts)


def stored_value(cell: etree._Element) -> Stored:
    """What is stored in a cell, as formulas take it."""
    kind = attribute(cell, "office:value-type")
    if kind in _NUMBERS:
        return "n", attribute(cell, "office:value")
    if kind == "boolean":
        return "b", attribute(cell, "office:boolean-value").upper()
    if kind == "string":
        lines = ["".join(map(str, line.itertext())) for line in cell.iterchildren(full("text:p"))]
        text = attribute(cell, "office:string-value") or "\n".join(lines)
        return "e" if text.startswith("#") and attribute(cell, "table:formula") else "str", text
    return ("d", attribute(cell, f"office:{kind}-value")) if kind else ("n", "")


def read_grid(table: etree._Element) -> Grid | None:
    """The cells of a sheet, for formulas; None where they are too many."""
    grid, number, left = Grid(), 1, _MOST
    for row in named(table, "table:table-row"):
        count, column = repeats(row, "table:number-rows-repeated"), 1
        for cell in row:
            width, stored = repeats(cell, "table:number-columns-repeated"), stored_value(cell)
            formula = attribute(cell, "table:formula")
            if stored != ("n", "") or formula:
                left -= count * width
                if left < 0:
                    return None
                for place in range(number, number + count):
                    grid.rows.setdefault(place, {}).update(dict.fromkeys(range(column, column + width), stored))
            if formula:
                grid.formulas[number, column] = Formula(a1_formula(formula))
            column += width
        number += count
    return grid


def defined_names(spreadsheet: etree._Element) -> dict[tuple[str, str], str]:
    """Names of ranges and expressions, that hold on all sheets, with what they mean."""
    found = {}
    for one in spreadsheet.iter(full("table:named-range"), full("table:named-expression")):
        address = attribute(one, "table:cell-range-address")
        meaning = f"[{address}]" if address else attribute(one, "table:expression")
        found["", attribute(one, "table:name").lower()] = a1_formula(meaning)
    return found
