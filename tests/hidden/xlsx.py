"""Workbooks that hide text, and workbooks that only look as if they did."""

import io
import zipfile
from collections.abc import Callable

import xlsxwriter
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from tests.hidden.base import Technique

HIDDEN, SHOWN = "zebra", "before"
Fill = Callable[[Workbook, Worksheet], None]
_NUMBER = 987_654


def _cell(text: str | int = HIDDEN, **looks: object) -> Fill:
    """A text or a number in B3 that looks so."""
    return lambda book, sheet: sheet.write(2, 1, text, book.add_format(looks)) and None


def _rich(text: str, **looks: object) -> Fill:
    return lambda book, sheet: sheet.write_rich_string(2, 1, "after ", book.add_format(looks), text) and None


def _condition(
    rule: dict[str, object], text: str | int = HIDDEN, looks: dict[str, object] | None = None, **change: object
) -> Fill:
    """A text or a number in B3 that looks so, with a rule of changed looks over it."""

    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write(2, 1, text, book.add_format(looks or {}))
        sheet.conditional_format("A2:C5", rule | {"format": book.add_format(change)} if change else rule)

    return fill


def _always(formula: str) -> dict[str, object]:
    return {"type": "formula", "criteria": formula}


def _column(width: float, options: dict[str, object] | None = None) -> Fill:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write_row(2, 1, [HIDDEN, "after"])
        sheet.set_column(1, 1, width, None, options or {})

    return fill


def _narrow(text: str | int) -> Fill:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write(2, 1, text)
        sheet.set_column(1, 1, 0.3)

    return fill


def _row(height: float | None, options: dict[str, object] | None = None) -> Fill:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write(2, 1, HIDDEN)
        sheet.set_row(2, height, None, options or {})

    return fill


def _other_sheet(hide: str) -> Fill:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        other = book.add_worksheet("Other")
        other.write(0, 0, HIDDEN)
        getattr(other, hide)()

    return fill


def _merged(book: Workbook, sheet: Worksheet) -> None:
    sheet.merge_range("B3:D4", "after")
    sheet.write("C4", HIDDEN)


def _rows_by_default(book: Workbook, sheet: Worksheet) -> None:
    sheet.set_default_row(hide_unused_rows=True)
    sheet.set_row(0, 20)
    sheet.write(2, 1, HIDDEN)


def _box(text: str, font: str, fill: str) -> Fill:
    options = {"font": {"color": font}, "fill": {"color": fill}}
    return lambda book, sheet: sheet.insert_textbox("B3", text, options) and None


_FILLS: dict[str, Fill] = {
    "format of three semicolons": _cell(num_format=";;;"),
    "format of three semicolons and no text": _cell(num_format=';;;""'),
    "format of blanks": _cell(num_format='" ";" ";" ";" "'),
    "format of widths": _cell(num_format="_x;_x;_x;_x"),
    "format that puts another text": _cell(num_format='0;-0;0;"after"'),
    "number in a format for nothing": _cell(_NUMBER, num_format='""'),
    "positive number in a format for others": _cell(_NUMBER, num_format=";-0;0"),
    "negative number in a format for others": _cell(-_NUMBER, num_format='0;""'),
    "number in a format with a condition": _cell(_NUMBER, num_format='[>100]"";General'),
    "white": _cell(font_color="white"),
    "nearly white": _cell(font_color="#F2F2F2"),
    "colour of the fill": _cell(font_color="#1F497D", bg_color="#1F497D"),
    "nearly the colour of the fill": _cell(font_color="#1F497D", bg_color="#204A7E"),
    "half a point": _cell(font_size=0.5),
    "1 point": _cell(font_size=1),
    "white run of rich text": _rich(HIDDEN, font_color="white"),
    "tiny run of rich text": _rich(HIDDEN, font_size=1),
    "column of no width": _column(0),
    "column of a point": _column(0.1),
    "column narrower than a letter, beside another cell": _column(0.3),
    "number in a column narrower than a letter": _narrow(_NUMBER),
    "hidden column": _column(8, {"hidden": True}),
    "column of a closed group": _column(8, {"level": 1, "hidden": True}),
    "row of no height": _row(0),
    "low row": _row(0.75),
    "hidden row": _row(None, {"hidden": True}),
    "row of a closed group": _row(None, {"level": 1, "hidden": True}),
    "rows hidden unless they say otherwise": _rows_by_default,
    "hidden sheet": _other_sheet("hide"),
    "very hidden sheet": _other_sheet("very_hidden"),
    "under a merged cell": _merged,
    "condition that always holds": _condition(_always("=TRUE"), font_color="white"),
    "condition of a constant": _condition(_always("=1"), font_color="#1F497D", bg_color="#1F497D"),
    "condition on what is not blank": _condition({"type": "no_blanks"}, font_color="white"),
    "condition with a format": _condition(_always("=1=1"), num_format=";;;"),
    "condition on the number": _condition({"type": "cell", "criteria": ">", "value": 100}, _NUMBER, font_color="white"),
    "condition on the text": _condition({"type": "cell", "criteria": "==", "value": f'"{HIDDEN}"'}, font_color="white"),
    "bar without its number": _condition({"type": "data_bar", "bar_only": True}, _NUMBER),
    "white header of the printed pages": lambda book, sheet: sheet.set_header(f"&L&KFFFFFF{HIDDEN}&K000000 after"),
    "header of 1 point": lambda book, sheet: sheet.set_footer(f"&Cafter &1{HIDDEN}"),
    "colour of the text box": _box(HIDDEN, "#1F497D", "#1F497D"),
}
_THEMED = {
    "background of the theme": "theme='0'",
    "background of the theme, a little darker": "theme='0' tint='-0.04'",
    "text of the theme, tinted to white": "theme='1' tint='0.96'",
    "accent of the theme, tinted to white": "theme='4' tint='0.97'",
    "white of the palette": "indexed='9'",
    "background of the system": "indexed='65'",
}
_CONTROLS: dict[str, Fill] = {
    "white on a dark cell": _cell("show", font_color="white", bg_color="#1F497D"),
    "pale grey": _cell("show", font_color="#999999"),
    "6 points": _cell("show", font_size=6),
    "format that hides zeros": _cell("show", num_format="0;-0;;@"),
    "format of units": _cell("show", num_format='0" kg"'),
    "format of a colour alone": _cell("show", num_format="[Red];[Red];[Red];[Red]"),
    "text that runs out of a narrow column": _narrow("show"),
    "format for numbers alone": _cell("show", num_format=";;"),
    "turned by 90 degrees": _cell("show", rotation=90),
    "condition that makes it dark": _condition(_always("=TRUE"), "show", {"font_color": "white"}, bg_color="#1F497D"),
    "condition that never holds": _condition(_always("=FALSE"), "show", font_color="white"),
    "condition on another number": _condition(
        {"type": "cell", "criteria": "<", "value": 100}, "show", font_color="white"
    ),
    "condition that is not known": _condition(_always("=LEN($B$3)>99"), "show", font_color="white"),
    "merged cells": lambda book, sheet: sheet.merge_range("B3:D4", "show") and None,
    "low but legible row": lambda book, sheet: sheet.write(2, 1, "show") or sheet.set_row(2, 9),
    "header in red": lambda book, sheet: sheet.set_header("&L&KFF0000show"),
    "white on a dark text box": _box("show", "#FFFFFF", "#1F497D"),
    "red run of rich text": _rich("show", font_color="red"),
}


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hidden = {name: (HIDDEN, str(_NUMBER)) for name in (*_FILLS, *_THEMED)}
    hiding = [Technique(name, "book.xlsx", workbook(fill), hidden[name], (SHOWN,)) for name, fill in _FILLS.items()]
    themed = [Technique(name, "book.xlsx", _themed(colour), hidden[name], (SHOWN,)) for name, colour in _THEMED.items()]
    return hiding + themed + [
        Technique(f"control: {name}", "book.xlsx", workbook(fill), (), (SHOWN, "show"))
        for name, fill in _CONTROLS.items()
    ]  # fmt: skip


def workbook(fill: Fill) -> bytes:
    """A workbook of a word that is shown, and what is filled in."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Sheet")
        sheet.write(0, 0, SHOWN)
        fill(book, sheet)
    return file.getvalue()


def _themed(colour: str) -> bytes:
    """A workbook whose only coloured font has a colour that the library cannot write."""
    made, changed = io.BytesIO(workbook(_cell(font_color="#123456"))), io.BytesIO()
    with zipfile.ZipFile(made) as before, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            data = before.read(name)
            after.writestr(name, data.replace(b'rgb="FF123456"', colour.replace("'", '"').encode()))
    return changed.getvalue()
