"""XLS and XLSB: what cells show, which are hidden, what their formulas give, and what lies beside them."""

import io
import struct
import zipfile

import pytest

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.office.sheets.biff_formulas import XLS, XLSB, written
from pipeline.parse.options import Options
from tests.pipeline.parse.conftest import PACKAGE
from tests.pipeline.parse.conftest import relations as rels
from tests.pipeline.parse.legacy import biff, cell, workbook

FORMATS = ('#,##0.00 "EUR"', "00000", '"1,000.00"', ";;;", "0%")


def font(colour: int = 0x7FFF, flags: int = 0, place: int = 0, height: int = 200) -> bytes:
    return biff(0x31, struct.pack("<HHHHHBBBBBB", height, flags, colour, 400, place, 0, 0, 0, 0, 1, 0) + b"A")


def style(font: int = 0, number: int = 0, pattern: int = 0, colour: int = 0x41) -> bytes:
    return biff(0xE0, struct.pack("<HHHBBBBIIH", font, number, 0, 0, 0, 0, 0, 0, pattern << 26, colour))


def head() -> bytes:
    fonts = [font(), font(9), font(flags=8), font(place=1), font(10)]
    formats = [
        biff(0x41E, struct.pack("<HHB", 164 + place, len(code), 0) + code.encode("latin-1"))
        for place, code in enumerate(FORMATS)
    ]
    styles = [style(), *(style(number=164 + place) for place in range(len(FORMATS)))]  # 0, 1 to 5
    styles += [style(font=1), style(font=1, pattern=1, colour=8), style(font=2), style(font=5)]  # 6 to 9
    palette = biff(0x92, struct.pack("<H", 3) + bytes([0, 0, 0, 0, 255, 255, 255, 0, 255, 255, 255, 0]))
    return b"".join([*fonts, *formats, *styles, palette])


def number(row: int, column: int, value: float, style: int = 0) -> bytes:
    return biff(0x203, struct.pack("<HHHd", row, column, style, value))


def numbers(*cells: tuple[float, int]) -> bytes:
    """A row of numbers, each with its style."""
    return b"".join(number(0, column, value, style) for column, (value, style) in enumerate(cells))


def formula(row: int, column: int, value: float, tokens: bytes, style: int = 0) -> bytes:
    return biff(0x06, struct.pack("<HHHdHIH", row, column, style, value, 0, 0, len(tokens)) + tokens)


INT, REF, SUM, MUL = b"\x1e", b"\x44", b"\x19\x10\0\0", b"\x05"


def ref(row: int, column: int) -> bytes:
    return REF + struct.pack("<HH", row, column | 0xC000)


def area(top: int, bottom: int, left: int, right: int) -> bytes:
    return b"\x25" + struct.pack("<HHHH", top, bottom, left | 0xC000, right | 0xC000)


def test_number_formats_of_xls(parse) -> None:
    records = numbers((1240.5, 1), (1234.0, 2), (0.19, 5), (4711471147114711.0, 0))
    parsed = parse(workbook({"A": records}, head=head()))
    assert parsed.text == "A\n\n1,240.50 EUR | 01234 | 19% | 4711471147114711"
    assert (parsed.notes, parsed.unsure) == ((), ())


def test_a_number_format_of_xls_that_shows_another_number(parse) -> None:
    parsed = parse(workbook({"Bill": cell(0, 0, "x") + number(4, 2, 987654, 3)}, head=head()))
    assert parsed.text == "Bill\n\nx\n\n |  | 1,000.00" or parsed.text.endswith("1,000.00")
    assert parsed.unsure == ("cells that show something else than their value: 1 (Bill!C5 shows 1,000.00 of 987654)",)


def test_cells_of_xls_that_nobody_sees(parse) -> None:
    records = numbers((1.0, 0), (22.0, 4), (333.0, 6), (5.0, 7), (44.0, 9))
    records += cell(1, 0, "unseen") + cell(2, 0, "b") + cell(2, 5, "shut") + cell(2, 6, "under")
    records += biff(0x208, struct.pack("<HHHHHHI", 1, 0, 9, 255, 0, 0, 0x20))
    records += biff(0x7D, struct.pack("<HHHHHH", 5, 5, 2000, 0, 1, 0))
    records += biff(0xE5, struct.pack("<HHHHH", 1, 2, 2, 4, 6))
    parsed = parse(workbook({"A": records}, head=head()))
    assert parsed.text == "A\n\n1 |  |  | 5\n\nb" or parsed.text == "A\n\n1 |  |  | 5\nb"
    assert parsed.hidden == (
        Hidden("same_colour", 5), Hidden("covered", 5), Hidden("marked_hidden", 2), Hidden("hidden_row", 10),
    )  # fmt: skip


def test_letters_of_xls_that_are_struck_out(parse) -> None:
    parsed = parse(workbook({"A": number(0, 0, 900.0, 8) + number(0, 1, 950.0)}, head=head()))
    assert parsed.text == "A\n\n~~900~~ | 950"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 3 characters",)


def test_values_of_xls_that_are_repeated_and_texts_struck_out_in_part(parse) -> None:
    filled = biff(0xE0, struct.pack("<HHHBBBBIIH", 0, 0, 0, 4, 0, 0, 0, 0, 0, 0x41))
    parsed = parse(workbook({"A": number(0, 0, 9.0, 10)}, head=head() + filled + font(flags=8)))
    assert parsed.unsure == (
        "cells that show something else than their value: 1 (A!A1 shows 9 of 9)",
        "letters within texts may be struck out, which is not read in this format",
    )


def test_conditional_formats_of_xls_are_noted(parse) -> None:
    parsed = parse(workbook({"A": number(0, 0, 9.0) + biff(0x1B0, bytes(14))}, head=head()))
    assert parsed.notes == ("conditional formats not read: 1",)


def test_formulas_of_xls(parse) -> None:
    records = number(0, 0, 100.0) + number(1, 0, 200.0)
    total = area(0, 1, 0, 0) + SUM
    records += formula(2, 0, 9000.0, total) + formula(2, 1, 600.0, total + INT + b"\x02\0" + MUL)
    records += formula(3, 0, 987654.0, INT + struct.pack("<H", 1000)) + formula(3, 1, 5.0, b"\x43\x01\0\0\0")
    parsed = parse(workbook({"A": records}, head=head()))
    assert parsed.text == "A\n\n100\n200\n9000 | 600\n987654 | 5"
    assert parsed.notes == ("results of formulas taken as stored, unchecked: 1",)
    assert parsed.unsure == (
        "stored results unlike their formulas: 2 "
        "(A!A3: 9000 stored, =SUM(A1:A2) gives 300; A!A4: 987654 stored, =1000 gives 1000)",
    )


def test_formulas_of_xls_that_cells_share_and_on_other_sheets(parse) -> None:
    exp = b"\x01" + struct.pack("<HH", 0, 1)
    left = b"\x4c" + struct.pack("<HH", 0, 0xC0FF)  # the cell to the left, in the same row
    tokens = left + INT + b"\x02\0" + MUL
    shared = biff(0x4BC, struct.pack("<HHBBBBH", 0, 1, 1, 1, 0, 2, len(tokens)) + tokens)
    records = number(0, 0, 5.0) + number(1, 0, 7.0) + formula(0, 1, 10.0, exp) + shared + formula(1, 1, 99.0, exp)
    other = formula(0, 0, 6.0, b"\x5a" + struct.pack("<HHH", 0, 1, 0xC000))
    links = biff(0x1AE, struct.pack("<HH", 2, 0x0401)) + biff(0x17, struct.pack("<HHhh", 1, 0, 0, 0))
    parsed = parse(workbook({"A": records, "B": other}, head=head() + links))
    assert parsed.unsure == (
        "stored results unlike their formulas: 2 (A!B2: 99 stored, =A2*2 gives 14; B!A1: 6 stored, ='A'!A2 gives 7)",
    )


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (INT + b"\x05\0" + INT + b"\x02\0" + b"\x04", "5-2"), (b"\x1f" + struct.pack("<d", 1.5) + b"\x14", "1.5%"),
        (INT + b"\1\0" + b"\x15\x13", "-(1)"), (b'\x17\x03\0a"b', '"a""b"'),
        (b"\x17\x01\x01" + "ж".encode("utf-16-le"), '"ж"'),
        (b"\x1d\1", "TRUE"), (b"\x1c\x2a", "#N/A"), (ref(0, 0) + ref(9, 26) + b"\x42\x02\x04\0", "SUM(A1,AA10)"),
        (ref(0, 0) + INT + b"\2\0" + b"\x41\x1b\0", "ROUND(A1,2)"), (b"\x41\x13\0", "PI()"),
        (ref(1, 1) + INT + b"\1\0\x0b", "B2=1"),
        (b"\x42\x02\x63\x63", ""), (b"\x03", ""), (b"\x44\0", ""), (b"", ""), (INT + b"\1\0" + INT + b"\1\0", ""),
        (b"\x60", ""),
        (b"\x19\x04\0\0", ""), (b"\x5a\0\0\0\0\0\0", ""), (b"\x19\x40\0\0" + INT + b"\1\0", "1"),
    ],
)  # fmt: skip
def test_formulas_as_they_are_written(tokens: bytes, text: str) -> None:
    assert written(tokens, XLS, [""]) == text


def test_formulas_of_xlsb_have_longer_rows() -> None:
    place = struct.pack("<IH", 999_999, 0xC000 | 300)
    assert written(b"\x44" + place, XLSB, []) == "KO1000000"
    assert written(b"\x17\x02\0" + "ab".encode("utf-16-le"), XLSB, []) == '"ab"'
    assert written(b"\x25" + struct.pack("<IIHH", 0, 1, 0xC000, 0xC001), XLSB, []) == "A1:B2"


def record(kind: int, data: bytes = b"") -> bytes:
    """A record of XLSB."""
    head = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
    length = len(data)
    return head + (bytes([length]) if length < 0x80 else bytes([length & 0x7F | 0x80, length >> 7])) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def at(column: int, style: int = 0) -> bytes:
    return struct.pack("<II", column, style)


def xlsb(rows: bytes, more: bytes = b"") -> bytes:
    fonts = b"".join(
        record(
            43, struct.pack("<HHHHBBBB", 220, flags, 400, 0, 0, 0, 0, 0) + bytes([5, 0, 0, 0, *rgb, 255, 0]) + wide("A")
        )
        for flags, rgb in ((0, (0, 0, 0)), (8, (0, 0, 0)), (0, (255, 255, 255)))
    )
    formats = b"".join(record(44, struct.pack("<H", 164 + n) + wide(code)) for n, code in enumerate(FORMATS))
    of_cells = b"".join(
        record(47, struct.pack("<HHHHHBBBBH", 0, number, font, 0, 0, 0, 0, 0, 0, 0))
        for number, font in [(0, 0), *((164 + n, 0) for n in range(len(FORMATS))), (0, 1), (0, 2)]
    )
    styles = record(278) + record(615, struct.pack("<I", len(FORMATS))) + formats + record(616) + fonts
    styles += record(617, struct.pack("<I", 8)) + of_cells + record(618) + record(279)
    sheet = record(129) + record(148, struct.pack("<IIII", 0, 9, 0, 9)) + more
    sheet += record(145) + rows + record(146) + record(130)
    book = record(131) + record(143) + record(156, struct.pack("<II", 0, 1) + wide("rId1") + wide("A"))
    book += record(144) + record(132)
    kind = "application/vnd.ms-excel.sheet.binary.macroEnabled.main"
    types = (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="bin" ContentType="application/x"/>'
        f'<Override PartName="/xl/workbook.bin" ContentType="{kind}"/></Types>'
    )
    parts = {
        "[Content_Types].xml": types, "_rels/.rels": rels(("officeDocument", "xl/workbook.bin")),
        "xl/_rels/workbook.bin.rels": rels(("worksheet", "worksheets/sheet1.bin"), ("styles", "styles.bin")),
        "xl/workbook.bin": book, "xl/styles.bin": styles, "xl/worksheets/sheet1.bin": sheet,
    }  # fmt: skip
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def row(number: int, flags: int = 0) -> bytes:
    return record(0, struct.pack("<IIHBBB", number, 0, 300, 0, flags, 0) + bytes(4))


def real(column: int, value: float, style: int = 0) -> bytes:
    return record(5, at(column, style) + struct.pack("<d", value))


def result(column: int, value: float, tokens: bytes) -> bytes:
    return record(9, at(column) + struct.pack("<dHI", value, 0, len(tokens)) + tokens + bytes(4))


BESIDE = "comments, text boxes and charts of this format are not read"


def test_number_formats_and_letters_of_xlsb(parse) -> None:
    cells = ((1240.5, 1), (1234, 2), (0.19, 5), (900, 6), (77, 4), (8, 7), (5, 0))
    parsed = parse(xlsb(row(0) + b"".join(real(column, *one) for column, one in enumerate(cells))))
    assert parsed.text == "A\n\n1,240.50 EUR | 01234 | 19% | ~~900~~ |  |  | 5"
    assert parsed.hidden == (Hidden("same_colour", 1), Hidden("marked_hidden", 2))
    assert parsed.notes == (BESIDE, "struck-out text, marked ~~ ~~: 3 characters")


def test_hidden_rows_and_columns_of_xlsb(parse) -> None:
    column = record(390) + record(60, struct.pack("<IIIIH", 1, 1, 2000, 0, 1)) + record(391)
    cells = row(0) + real(0, 1) + real(1, 22) + row(1, 0x10) + real(0, 333) + row(2) + real(0, 4)
    parsed = parse(xlsb(cells, column))
    assert parsed.text.replace("\n\n", "\n") == "A\n1\n4"
    assert parsed.hidden == (Hidden("hidden_row", 5),)


def test_formulas_and_doubtful_formats_of_xlsb(parse) -> None:
    tokens = b"\x25" + struct.pack("<IIHH", 0, 0, 0xC000, 0xC001) + SUM
    cells = row(0) + real(0, 1) + real(1, 2) + result(2, 3, tokens) + result(3, 9000, tokens) + real(4, 987654, 3)
    parsed = parse(xlsb(cells))
    assert parsed.text == "A\n\n1 | 2 | 3 | 9000 | 1,000.00"
    assert parsed.unsure == (
        "stored results unlike their formulas: 1 (A!D1: 9000 stored, =SUM(A1:B1) gives 3)",
        "cells that show something else than their value: 1 (A!E1 shows 1,000.00 of 987654)",
    )


def test_cells_in_fonts_of_signs_of_xls(parse) -> None:
    def named(name: str, charset: int) -> bytes:
        said = struct.pack("<HHHHHBBBBBB", 200, 0, 0x7FFF, 400, 0, 0, 0, charset, 0, len(name), 0)
        return biff(0x31, said + name.encode())

    fonts = named("Arial", 0) + named("Wingdings", 2) + named("Symbol", 2) + font() + named("Odd", 2)
    styles = b"".join(style(font=number) for number in (0, 1, 2, 5))
    cells = [(0, 1, "\xfe"), (1, 2, "m"), (2, 0, "m"), (3, 3, "m")]
    label = b"".join(
        biff(0x204, struct.pack("<HHHHB", 0, column, which, 1, 0) + text.encode("latin-1"))
        for column, which, text in cells
    )
    assert parse(workbook({"A": label}, head=fonts + styles)).text == "A\n\n[x] | \u00b5 | m | \ufffd"


@pytest.mark.parametrize(("flags", "zeros", "formulas"), [(0x10, True, 0), (0, False, 0), (0x10, True, 1)])
def test_sheets_that_show_no_zeros_or_formulas_in_place_of_results(
    parse, flags: int, zeros: bool, formulas: int
) -> None:
    """The flags of a view in XLS and in XLSB, where that of formulas stands at another place."""
    window = biff(0x23E, struct.pack("<HHHIHHI", flags | formulas, 0, 0, 64, 0, 0, 0))
    old = parse(workbook({"A": number(0, 0, 7.0) + number(0, 1, 0.0) + number(0, 2, 5.0) + window}, head=head()))
    view = record(137, struct.pack("<HIIIBBHHHHII", flags | formulas << 1, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0))
    new = parse(xlsb(row(0) + real(0, 7) + real(1, 0) + real(2, 5), record(133) + view + record(138) + record(134)))
    for parsed in (old, new):
        assert parsed.text == ("A\n\n7 | 0 | 5" if zeros else "A\n\n7 |  | 5")
        assert parsed.hidden == (() if zeros else (Hidden("marked_hidden", 1),))
        assert len(parsed.unsure) == formulas


BOF = 0x809


def aside(kind: int, number: int, *texts: bytes, length: int) -> bytes:
    """An object with a text in several records."""
    head = biff(0x5D, struct.pack("<HHHH", 0x15, 0x12, kind, number) + bytes(14))
    head += biff(0x1B6, struct.pack("<HH6xHHI", 0, 0, length, 0, 0))
    return head + b"".join(biff(0x3C, text) for text in texts)


def note(row: int, column: int, number: int, author: str) -> bytes:
    return biff(0x1C, struct.pack("<HHHHHB", row, column, 0, number, len(author), 0) + author.encode() + b"\0")


def test_sheets_are_pages_with_names(parse) -> None:
    parsed = parse(workbook({"One": cell(0, 0, "a") + cell(0, 1, 2.5), "Two": cell(3, 3, 7.0)}))
    assert parsed.text == "One\n\na | 2.5\n\nTwo\n\n7"
    assert [(one.kind, one.title) for one in parsed.sections] == [("sheet", "One"), ("sheet", "Two")]
    assert parsed.notes == ()


def test_hidden_sheets(parse, parse_members, fail) -> None:
    data = workbook({"One": cell(0, 0, "seen"), "Two": cell(0, 0, "unseen")}, hidden=["Two"])
    parsed = parse(data)
    assert (parsed.text, parsed.hidden) == ("One\n\nseen", (Hidden("hidden_sheet", 6),))
    assert parse_members(data, options=Options(hidden="keep"))[0].text.endswith("Two\n\nunseen")
    assert "6 characters of hidden text" in fail(workbook({"One": cell(0, 0, "unseen")}, hidden=["One"])).reason


def test_comments_text_boxes_and_charts(parse) -> None:
    wide = b"\x01" + "ж".encode("utf-16-le")
    chart = biff(BOF, struct.pack("<HHHHII", 0x600, 0x20, 0, 0, 0, 6)) + cell(99, 99, 1.0) + biff(0x0A)
    records = cell(0, 0, "x") + aside(0x19, 1, b"\0why", wide, b"\x10\0", length=4) + aside(6, 2, b"\0box", length=3)
    records += chart + note(9, 27, 1, "Ann") + note(9, 9, 77, "Bob")
    parsed = parse(workbook({"One": records}))
    assert parsed.text == "One\n\nx\n\nbox\n\nComment (AB10, Ann): whyж"
    assert parsed.notes == ("charts not read: 1",)


@pytest.mark.parametrize(
    "records",
    [
        cell(0, 0, 1.0) + cell(65535, 65535, 1.0),
        biff(0x200, struct.pack("<IIHHH", 0, 0xFFFFFFFF, 0, 0xFFFF, 0)) + cell(0, 0, 1.0),
        cell(0, 0, 1.0) + biff(0xBD, struct.pack("<HHHIHIH", 65535, 0, 0, 0, 0, 0, 65535)),
    ],
)
def test_a_grid_too_large_is_refused_before_it_is_made(fail, records: bytes) -> None:
    error = fail(workbook({"One": records}))
    assert error.failure is Failure.TOO_LARGE
    assert "'One' spans" in error.reason


def test_many_grids_together_are_too_large(fail) -> None:
    sheets = {f"S{number}": cell(0, 0, 1.0) + cell(65535, 15, 1.0) for number in range(50)}
    assert fail(workbook(sheets)).failure is Failure.TOO_LARGE


def test_a_large_grid_is_read(parse) -> None:
    text = parse(workbook({"One": cell(0, 0, 1.0) + cell(60_000, 50, 2.0)})).text
    assert text.split() == ["One", "1", *["|"] * 50, "2"]


def test_a_workbook_with_a_password(fail) -> None:
    assert fail(workbook({"One": b""}, head=biff(0x2F, bytes(6)))).failure is Failure.ENCRYPTED


def test_sheets_that_lie_over_one_another(fail) -> None:
    data = bytearray(workbook({f"S{number}": b"" if number else cell(0, 0, "x" * 200) * 50 for number in range(99)}))
    first = data.index(struct.pack("<HH", 0x85, 10)) + 4
    place, at = data[first : first + 4], first
    while (at := data.find(b"\x85\x00", at)) >= 0:
        data[at + 4 : at + 8] = place
        at += 8
    assert fail(bytes(data)).failure is Failure.CORRUPT
