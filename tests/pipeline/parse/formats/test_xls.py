"""XLS beside its cells: hidden sheets, comments, text boxes, charts, and grids too large to be made."""

import struct

import pytest

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.options import Options
from tests.pipeline.parse.legacy import biff, cell, workbook

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
