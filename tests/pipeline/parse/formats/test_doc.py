"""DOC: pieces, stories, tables, fields, and what is not shown."""

import struct

import pytest

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.options import Options
from tests.pipeline.parse.legacy import plc, word

IN_TABLE, ROW_END = b"\x16\x24\x01", b"\x17\x24\x01"
DELETED, HIDDEN = b"\x00\x08\x01", b"\x3c\x08\x01"


def look(style: int = 0, *changes: bytes) -> bytes:
    return struct.pack("<H", style) + b"".join(changes)


def test_pieces_of_one_and_two_bytes_are_one_text(parse) -> None:
    narrow, wide = "Grüße — 5 € zum Zwölften\r", "Привет 😀 мир\r"
    text = narrow + wide
    parsed = parse(word({"body": text.replace("😀", "\ud83d\ude00")}, cuts=[len(narrow)]))
    assert parsed.media_type == "application/msword"
    assert parsed.text == text.replace("\r", "\n").strip()


def test_signs_of_word_are_written_as_they_look(parse) -> None:
    assert parse(word({"body": "a\x0bb\rnon\x1ebreaking so\x1fft\r\x0cnext page\r"})).text == (
        "a\nb\nnon-breaking soft\n\nnext page"
    )


def test_of_fields_the_result_is_shown(parse) -> None:
    body = 'See \x13 HYPERLINK "http://no" \x14\x13 REF no \x14there\x15 now\x15.\x13 XE "no" \x15\rAn \x13 open one\r'
    assert parse(word({"body": body})).text == "See there now.\nAn  open one"


def test_tables(parse) -> None:
    body = "before\ra\x07b\rmore\x07\x07\x07\x07\x07after\r"
    marks = [place for place, one in enumerate(body) if one in "\r\x07"]
    paragraphs = {(place, place + 1): look(0, IN_TABLE) for place in marks if 7 <= place < len(body) - 6}
    for place in (marks[4], marks[7]):
        paragraphs[place, place + 1] = look(0, IN_TABLE, ROW_END)
    assert parse(word({"body": body}, paragraphs=paragraphs)).text == "before\n\na | b more\n\nafter"


def test_headings_are_sections(parse) -> None:
    sheet = struct.pack("<HHH", 4, 3, 0) + b"".join(struct.pack("<HHH", 4, kind, 0) for kind in (0, 1, 62))
    data = word({"body": "Title\rOne\rtext\r"}, paragraphs={(5, 6): look(2), (9, 10): look(1)}, parts={1: sheet})
    parsed = parse(data)
    assert parsed.text == "Title\n\nOne\n\ntext"
    assert [(one.level, one.title) for one in parsed.sections] == [(1, "Title"), (1, "One")]


def level(form: int, pattern: str, start: int = 1) -> bytes:
    head = struct.pack("<iB9x2x8xBBxx", start, form, 0, 0)
    return head + struct.pack("<H", len(pattern)) + pattern.encode("utf-16-le")


def test_numbers_of_lists(parse) -> None:
    """Two levels of one list, one that a style names, a bullet, and an instance that begins elsewhere."""
    lists = struct.pack("<H", 2) + struct.pack("<i22xBx", 7, 0) + struct.pack("<i22xBx", 8, 1)
    levels = level(0, "\0.") + level(4, "\0.\1)") + level(255, "") * 7 + level(23, "\uf0b7")
    instances = struct.pack("<I", 3) + struct.pack("<i8xBxxx", 7, 0) + struct.pack("<i8xBxxx", 8, 0)
    instances += struct.pack("<i8xBxxx", 7, 1) + bytes(8) + struct.pack("<iiI", 0, 5, 0x10)
    style = struct.pack("<HHHHHHH", 0, 0x0FFF << 4 | 1, 1, 0, 0, 0, 0) + struct.pack("<HHHH", 6, 0, 0x460B, 1)
    sheet = struct.pack("<HHHH", 4, 1, 10, len(style)) + style
    body = "one\rtwo\rin\rby style\rpoint\rfive\rplain\r"
    marks = [place for place, one in enumerate(body) if one == "\r"]
    first, inner = b"\x0b\x46\1\0", b"\x0a\x26\1"
    looks = [look(9, first), look(9, first), look(9, first + inner), look(0), look(9, b"\x0b\x46\2\0"),
             look(9, b"\x0b\x46\3\0"), look(0, b"\x0b\x46\0\0")]  # fmt: skip
    paragraphs = {(place, place + 1): one for place, one in zip(marks, looks, strict=True)}
    data = word({"body": body}, paragraphs=paragraphs, parts={1: sheet, 73: lists, 75: levels, 74: instances})
    assert parse(data).text == "1. one\n2. two\n2.a) in\n3. by style\n- point\n5. five\nplain"


def test_deleted_and_hidden_text(parse, parse_members) -> None:
    data = word({"body": "shown deleted hidden end\r"}, runs={(6, 14): DELETED, (14, 21): HIDDEN})
    parsed = parse(data)
    assert parsed.text == "shown end"
    assert parsed.hidden == (Hidden("marked_hidden", 6),)
    assert parse_members(data, options=Options(hidden="keep"))[0].text == "shown hidden end"


def test_a_symbol_stands_for_its_character(parse) -> None:
    symbol = struct.pack("<HHH", 0x6A09, 1, 0xF061)
    parts = {15: fonts(("Arial", 0), ("Symbol", 2))}
    assert parse(word({"body": "angle (\r"}, runs={(6, 7): symbol}, parts=parts)).text == "angle \u03b1"
    unknown = parse(word({"body": "angle (\r"}, runs={(6, 7): symbol}))
    assert unknown.text == "angle \ufffd"
    assert unknown.notes == ("signs of symbol fonts that are in no table, written as U+FFFD: 1",)


def fonts(*names: tuple[str, int]) -> bytes:
    """A table of fonts (SttbfFfn): names and character sets."""
    entries = [bytes(3) + bytes([charset]) + bytes(35) + name.encode("utf-16-le") + b"\0\0" for name, charset in names]
    return struct.pack("<HH", len(entries), 0) + b"".join(bytes([len(one)]) + one for one in entries)


def test_runs_that_are_raised_struck_out_or_in_a_font_of_signs(parse) -> None:
    body = "EUR 1,0001 rent 900 950 dose 5 mg, 109\r"
    runs = {
        (9, 10): struct.pack("<HB", 0x2A48, 1),
        (16, 19): struct.pack("<HB", 0x0837, 1),
        (31, 32): struct.pack("<HH", 0x4A4F, 1),
        (37, 38): struct.pack("<HhHH", 0x4845, 6, 0x4A43, 16),
    }
    parsed = parse(word({"body": body}, runs=runs, parts={15: fonts(("Arial", 0), ("Symbol", 2))}))
    assert parsed.text == "EUR 1,000^1 rent ~~900~~ 950 dose 5 µg, 10^9"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 3 characters",)


def test_notes_comments_headers_and_boxes(parse) -> None:
    body = "Text\x02 and\x02 more\x05\x08\r"
    headers = ["", "", "", "", "", "", "", "odd head\r", "", "odd foot\r", "", ""]
    cuts = [sum(map(len, headers[:number])) for number in range(len(headers) + 1)]
    owners = struct.pack("<H", 3) + "Ann".encode("utf-16-le")
    parts = {
        2: plc(4, len(body), data=b"\0\0"),
        3: plc(0, 7, 8),
        46: plc(9, len(body), data=b"\0\0"),
        47: plc(0, 7, 8),
        4: plc(15, len(body), data=bytes(30)),
        5: plc(0, 10, 11),
        11: plc(*cuts, cuts[-1] + 1),
        36: owners,
        56: plc(0, 6, 7, data=bytes(44)),
    }
    stories = {
        "body": body, "footnotes": "\x02 foot\r\r", "endnotes": "\x02 last\r\r", "headers": "".join(headers) + "\r",
        "comments": "\x05 a note.\r\r", "boxes": "boxed\r\r",
    }  # fmt: skip
    assert parse(word(stories, parts=parts)).text.split("\n") == [
        "odd head", "", "Text[1] and[e1] more", "", "boxed", "", "[1] foot", "", "[e1] last", "",
        "Comment (Ann): a note.", "", "odd foot",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "failure", "words"),
    [
        (word({"body": "x\r"}, flags=0x0100), Failure.ENCRYPTED, "password"),
        (word({"body": "x\r"}, ident=0xA5DC), Failure.UNSUPPORTED, "Word 95"),
        (word({"body": "\r"}), Failure.EMPTY, "no text"),
        (word({"body": "\x01\r"}), Failure.NEEDS_OCR, "pictures"),
        (word({"body": "x\r"}).replace(b"\x02\x10\0\0\0", b"\x03\x10\0\0\0"), Failure.CORRUPT, "pieces"),
    ],
)
def test_what_cannot_be_read(fail, data: bytes, failure: Failure, words: str) -> None:
    error = fail(data, "letter.doc")
    assert error.failure is failure
    assert words in error.reason


def test_embedded_files_are_documents_of_their_own(parse_members) -> None:
    content = b"the content"
    native = struct.pack("<IH", 0, 2) + b"C:\\x\\note.txt\0" + b"C:\\y\0" + struct.pack("<HHI", 0, 3, 3) + b"t\0\0"
    native += struct.pack("<I", len(content)) + content
    pool = {"ObjectPool": {"_1": {"\x01Ole10Native": native}, "_2": {"Package": b"PK"}, "_3": {"CONTENTS": b"?"}}}
    parsed, members = parse_members(word({"body": "x\r"}, others=pool))
    assert members == {"note.txt": content, "embedded document": b"PK"}
    assert parsed.notes == ("embedded objects not read: 1",)


def test_pieces_that_say_too_much(fail) -> None:
    """Many pieces of the same bytes, and positions beyond all reason."""
    data = word({"body": "x" * 100 + "\r"})
    at = data.rindex(plc(0, 101))
    assert fail(data[:at] + plc(0, 0xFFFFFFFF) + data[at + 8 :]).failure is Failure.TOO_LARGE
    assert fail(data[:at] + plc(0, 5000) + data[at + 8 :]).failure is Failure.CORRUPT
    assert fail(data[:at] + plc(101, 0) + data[at + 8 :]).failure is Failure.CORRUPT


def test_counts_that_lie_are_noted(parse) -> None:
    data = bytearray(word({"body": "x" * 100 + "\r"}))
    at = data.index(b"\xec\xa5")
    struct.pack_into("<I", data, at + 76, 5000)
    parsed = parse(bytes(data))
    assert parsed.text == "x" * 100
    assert parsed.notes == ("characters that it should have and has not: 4899",)


def form(kind: int, result: int, usual: int, *entries: str) -> bytes:
    """A form field in the stream Data (NilPICFAndBinData with FFData)."""
    data = b"\xff\xff\xff\xff" + struct.pack("<HHH", kind | result << 2, 0, 0) + b"\0\0\0\0"
    data += struct.pack("<H", usual) + b"\0\0\0\0" * 5
    if entries:
        data += struct.pack("<HHH", 0xFFFF, len(entries), 0)
        data += b"".join(struct.pack("<H", len(one)) + one.encode("utf-16-le") for one in entries)
    return struct.pack("<IH", 68 + len(data), 68) + bytes(62) + data


def test_form_fields_and_signs_that_a_code_draws(parse) -> None:
    body = (
        "Kind: \x13 FORMDROPDOWN \x01\x14\x15, \x13 FORMCHECKBOX \x01\x15 yes, "
        '5 \x13 SYMBOL 109 \\f "Symbol" \x15g, \x13 =1000*2 \x149000\x15\r'
    )
    first, second = form(2, 1, 0, "Employment", "Lease"), form(1, 25, 1)
    places = [at for at, one in enumerate(body) if one == "\x01"]
    runs = {
        (place, place + 1): struct.pack("<HIHB", 0x6A03, data, 0x0806, 1)
        for place, data in zip(places, (0, len(first)), strict=True)
    }
    parsed = parse(word({"body": body}, runs=runs, others={"Data": first + second}))
    assert parsed.text == "Kind: Lease, [x] yes, 5 \u00b5g, 9000"
    assert parsed.unsure == ('a formula comes to 2000, and "9000" is stored as its result',)
