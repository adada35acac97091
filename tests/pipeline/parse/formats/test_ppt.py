"""PPT: slides in order with their notes and comments, tables, what stands on every slide, and what is locked."""

import struct
import zlib

import pytest

from pipeline.document import Hidden
from pipeline.errors import Failure
from tests.pipeline.parse.legacy import atom, cell, presentation, record, shape, slide, text_atoms, workbook

TITLE = 0


def string(text: str, instance: int) -> bytes:
    return atom(0x0FBA, text.encode("utf-16-le"), instance)


def outline(place: int) -> bytes:
    return shape(atom(0x0F9E, struct.pack("<I", place)))


def test_slides_are_pages_with_titles(parse) -> None:
    first = slide(outline(1), shape(text_atoms("a bo\rx")), outline(0))
    texts = text_atoms("First", TITLE) + text_atoms("Größe\x0b€", 1)
    parsed = parse(presentation([(first, texts), (slide(shape(text_atoms("Second", TITLE))), b"")]))
    assert parsed.media_type == "application/vnd.ms-powerpoint"
    assert parsed.text == "Größe\n€\n\na bo\nx\n\nFirst\n\nSecond"
    assert [(one.start, one.kind, one.title) for one in parsed.sections] == [
        (0, "slide", "First"),
        (parsed.page_starts[1], "slide", "Second"),
    ]


def test_texts_that_no_shape_refers_to_are_not_lost(parse) -> None:
    assert parse(presentation([(slide(), text_atoms("alone"))])).text == "alone"


def test_hidden_slides(parse, parse_members) -> None:
    slides = [(slide(shape(text_atoms("seen"))), b""), (slide(shape(text_atoms("un seen")), hidden=True), b"")]
    parsed = parse(presentation(slides))
    assert (parsed.text, parsed.hidden) == ("seen", (Hidden("hidden_slide", 6),))
    assert len(parsed.page_starts) == 2


def test_notes_and_comments(parse) -> None:
    placeholder = record(0xF011, atom(0x0BC3, struct.pack("<IBBH", 0, 8, 0, 0)))
    page = slide(
        shape(text_atoms("said aloud")), record(0xF004, record(0xF00D, text_atoms("9")), placeholder), kind=0x03F0
    )
    comment = record(0x2EE0, string("Ann", 0), string("why?", 1), string("A", 2))
    tag = record(0x138A, string("___PPT10", 0), atom(0x138B, comment))
    one = slide(shape(text_atoms("x")), notes=1, more=record(0x1388, tag))
    assert parse(presentation([(one, b"")], [page])).text == "x\n\nNotes: said aloud\n\nComment (Ann): why?"


def test_tables_are_rows(parse) -> None:
    def at(left: int, top: int, text: str) -> bytes:
        return record(0xF004, atom(0xF00F, struct.pack("<4i", left, top, 9, 9)), record(0xF00D, text_atoms(text)))

    options = record(0xF004, atom(0xF122, struct.pack("<HI", 0x039F, 1), instance=1))
    cells = [at(5, 0, "b"), at(-5, 0, "a"), at(-5, 9, "c"), at(5, 9, "d")]
    assert parse(presentation([(slide(record(0xF003, options, *cells)), b"")])).text == "a | b\nc | d"


def test_numbers_dates_and_footers(parse) -> None:
    signs = atom(0x0FD8, struct.pack("<I", 3)) + atom(0x0FFA, struct.pack("<I", 6))
    footer = record(
        0x0FD9, atom(0x0FDA, struct.pack("<HH", 0, 0x25)), string("today", 0), string("foot", 2), instance=3
    )
    slides = [(slide(shape(text_atoms("no *, *", signs=signs))), b"")] * 2
    text = "no {}, foot\n\ntoday\n\nfoot"
    assert parse(presentation(slides, more=footer)).text == "\n\n".join(text.format(number) for number in (1, 2))


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        (presentation([(slide(shape(text_atoms("x"))), b"")], token=0xF3D1C4DF), Failure.ENCRYPTED),
        (presentation([(slide(), b"")]), Failure.EMPTY),
        (presentation([(slide(), b"")], others={"Pictures": b"x"}), Failure.NEEDS_OCR),
        (presentation([(atom(0x03EE), b""), (atom(0x03F0), b"")]), Failure.CORRUPT),
        (presentation([(slide(b"\x0f\0\x03\xf0\xff\xff\xff\x7f"), b"")]), Failure.CORRUPT),
    ],
)
def test_what_cannot_be_read(fail, data: bytes, failure: Failure) -> None:
    assert fail(data).failure is failure


def test_deep_groups(parse, fail) -> None:
    def nested(depth: int) -> bytes:
        inside = shape(text_atoms("deep"))
        for _ in range(depth):
            inside = record(0xF003, inside)
        return presentation([(slide(inside), b"")])

    assert parse(nested(100)).text == "deep"
    error = fail(nested(20_000))
    assert (error.failure, "nested" in error.reason) == (Failure.CORRUPT, True)


def test_a_slide_that_is_listed_a_thousand_times(fail) -> None:
    """Its directory gives one place to all numbers."""
    one = slide(shape(text_atoms("x" * 5000)))
    data = bytearray(presentation([(one, b""), (slide(), b"")]))
    at = data.index(struct.pack("<I", 3 << 20 | 1))
    first, second = struct.unpack_from("<II", data, at + 8)
    assert second == first + len(one)
    struct.pack_into("<I", data, at + 12, first)
    assert fail(bytes(data)).failure is Failure.CORRUPT


def numbered(text: str, looks: bytes, *entries: bytes) -> bytes:
    box = record(0xF00D, text_atoms(text, signs=atom(0x0FA1, looks)))
    tag = record(0x138A, string("___PPT9", 0), atom(0x138B, atom(0x0FAC, b"".join(entries))))
    return presentation([(slide(record(0xF004, box, record(0xF011, record(0x1388, tag)))), b"")])


PLAIN, NUMBERS = bytes(12), struct.pack("<IHII", 0x02000000, 1, 0, 0)
LETTERS = struct.pack("<IHHHII", 0x03000000, 1, 8, 3, 0, 0)


def test_numbers_of_lists_by_runs_of_paragraphs(parse) -> None:
    """A line without one, two levels, and a line break inside a paragraph."""
    text = "head\rone\x0bmore\rin\rtwo"
    looks = b"".join(struct.pack("<IHI", count, level, 0) for count, level in ((5, 0), (9, 0), (3, 1), (4, 0)))
    looks += struct.pack("<II", len(text) + 1, 0)
    parsed = parse(numbered(text, looks, PLAIN, NUMBERS, LETTERS, NUMBERS))
    assert parsed.text == "head\n1. one\nmore\n(c) in\n2. two"


def test_numbers_of_lists_by_runs_of_characters(parse) -> None:
    looks = struct.pack("<IHIHH", 6, 0, 0x100080, 9, 1) + bytes(4)
    looks += struct.pack("<IIH", 2, 0x0C00, 1 << 10) + struct.pack("<IIHI", 4, 0x40400, 0, 7)
    assert parse(numbered("a\rb\rc", looks, PLAIN, NUMBERS)).text == "1. a\nb\nc"


def test_numbers_of_lists_that_are_cut_off_or_absurd(parse) -> None:
    for looks, entries in ((b"\xff" * 50, [NUMBERS]), (b"\1", [b"\xff" * 7]), (bytes(500), [LETTERS[:9]])):
        assert "x" in parse(numbered("x\ry", looks, *entries)).text


def test_embedded_documents(parse_members) -> None:
    """A workbook, compressed; a chart; a document whose bytes are damaged, and one that is not there."""
    book = workbook({"One": cell(0, 0, "inside")})
    good = atom(0x1011, struct.pack("<I", len(book)) + zlib.compress(book), instance=1)
    bad = atom(0x1011, bytes(4) + zlib.compress(book)[:-9], instance=1)

    def embedded(place: int, program: str) -> bytes:
        return record(0x0FCC, atom(0x0FC3, struct.pack("<16xII", place, 0)), string(program, 2))

    programs = ((3, "Excel.Sheet.8"), (9, "MSGraph.Chart.8"), (4, "Word.Document.8"), (99, "Package"))
    objects = record(0x0409, *(embedded(*one) for one in programs))
    data = presentation([(slide(shape(text_atoms("x"))), b"")], more=objects, stored=[good, bad])
    parsed, members = parse_members(data)
    assert (parsed.text, parsed.notes) == ("x", ("embedded objects not read: 1",))
    assert [one if isinstance(one, Failure) else one[:4] for one in members.values()] == [
        b"\xd0\xcf\x11\xe0", Failure.CORRUPT, Failure.CORRUPT,
    ]  # fmt: skip
    found = members["embedded document.xls"]
    assert isinstance(found, bytes)
    assert parse_members(found)[0].text == "One\n\ninside"


def test_runs_that_are_raised_or_in_a_font_of_signs(parse) -> None:
    text = "EUR 1,0001 dose 5 mg\rend"
    looks = struct.pack("<IHI", len(text) + 1, 0, 0)
    looks += struct.pack("<II", 9, 0) + struct.pack("<IIHh", 1, 0xA0000, 12, 30) + struct.pack("<II", 8, 0)
    looks += struct.pack("<IIH", 1, 0x10000, 1) + struct.pack("<II", 6, 0)
    font = atom(0x0FB7, "Symbol".encode("utf-16-le").ljust(64, b"\0") + b"\2\0\0\0", 1)
    more = record(0x03F2, record(0x07D5, font))
    data = presentation([(slide(shape(text_atoms(text, signs=atom(0x0FA1, looks)))), b"")], more=more)
    assert parse(data).text == "EUR 1,000^1 dose 5 \u00b5g\nend"
