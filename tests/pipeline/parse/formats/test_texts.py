"""Plain text, tables, JSON: layout, and what each is told by."""

import json

import pytest

from pipeline.errors import Failure


def test_text_is_unified_and_otherwise_as_it_stands(parse) -> None:
    parsed = parse(b"\xef\xbb\xbfOne\r\ntwo\rthree\x00\x0bfour\x07  \n\n\n  five\xc2\xad six\n", "letter")
    assert parsed.text == "One\ntwo\nthree\nfour  \n\n\n  five six"
    assert (parsed.media_type, parsed.page_starts) == ("text/plain", ())
    assert (parsed.encoding, parsed.encoding_confidence) == ("utf-8-sig", 1.0)


def test_the_name_decides_between_kinds_of_text_only(parse) -> None:
    assert parse(b"# Title\n\nText.", "a.md").media_type == "text/markdown"
    assert parse(b"# Title\n\nText.", "a.csv").media_type == "text/csv"
    assert parse(b"# Title\n\nText.", "a.pdf").media_type == "text/plain"
    assert parse(b"%PDF is what it begins with", "a.pdf").media_type == "text/plain"


@pytest.mark.parametrize(("name", "text"), [
    ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hello"), ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello"),
    ("a.tex", "\\section{One}\n% a remark"), ("a.rst", "Title\n=====\n\n.. note:: x"), ("a.adoc", "= Title\n\nText"),
])  # fmt: skip
def test_texts_of_other_kinds_stay_as_they_are(parse, name: str, text: str) -> None:
    parsed = parse(text.encode(), name)
    assert (parsed.media_type, parsed.text, parsed.sections) == ("text/plain", text, ())


@pytest.mark.parametrize("data", [b"", b" \n\t \r\n", b"\xef\xbb\xbf", b"\n" * 5])
def test_nothing_is_empty(fail, data: bytes) -> None:
    assert fail(data).failure is Failure.EMPTY


@pytest.mark.parametrize(
    ("delimiter", "kind"), [(",", "csv"), (";", "csv"), ("|", "csv"), ("\t", "tab-separated-values")]
)
def test_tables_are_recognised_without_a_name(parse, delimiter: str, kind: str) -> None:
    rows = [["name", "amount", "note"], ["Ann", "1.50", 'says "no"'], ["Bo", "", "x y"]]
    quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' if '"' in cell else cell for cell in row] for row in rows]
    parsed = parse("\r\n".join(delimiter.join(row) for row in quoted).encode())
    assert parsed.media_type == f"text/{kind}"
    assert parsed.text == 'name | amount | note\nAnn | 1.50 | says "no"\nBo |  | x y'


def test_prose_with_commas_is_no_table(parse) -> None:
    text = "Dear Ann, I write,\nas I said, to you,\nand, as ever, in haste."
    assert parse(text.encode()).text == text


def test_cells_over_several_lines_and_uneven_rows(parse) -> None:
    parsed = parse(b'a,b\n"one\ntwo",3\n4\n5,6,7\n', "x.csv")
    assert parsed.text == "a | b\none two | 3\n4\n5 | 6 | 7"
    assert parsed.notes == ("2 rows have more or fewer than 2 cells",)


def test_only_ends_of_lines_end_rows(parse) -> None:
    data = 'a,b\r"one\r\ntwo",x\u2028y\r\n\x1c1,2\x85\n'
    assert parse(data.encode(), "x.csv").text == "a | b\none two | x y\n1 | 2"


@pytest.mark.parametrize(("said", "kind"), [(";", "csv"), ("|", "csv"), ("^", "csv"), ("\t", "csv")])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_first_line_for_excel_names_the_delimiter(parse, said: str, kind: str, encoding: str) -> None:
    parsed = parse(f"sep={said}\r\na,b{said}c\r\nd{said}e\r\n".encode(encoding), f"x.{kind}")
    assert parsed.text == "a,b | c\nd | e"


@pytest.mark.parametrize("said", ['"', "x", " ", ""])
def test_what_names_no_delimiter_is_a_row(parse, said: str) -> None:
    assert parse(f"sep={said}\na,b\n".encode(), "x.csv").text.endswith("\na | b")


def test_a_long_table_is_read_in_bounded_memory(parse, fail) -> None:
    assert parse(b"a,b\n" * 300_000, "x.csv").text.count("\n") == 299_999
    assert fail(b"a,b\n" * 12_000_000, "x.csv").failure is Failure.TOO_LARGE


def test_json_keeps_order_numbers_and_equal_names(parse) -> None:
    parsed = parse(b'{"b": {"x": [1.10, 1e400, {"y": null}]}, "a": "two\\nlines", "a": true, "e": [], "n": NaN}')
    assert parsed.media_type == "application/json"
    assert parsed.text.splitlines() == [
        "b.x[0]: 1.10", "b.x[1]: 1e400", "b.x[2].y: null", "a: two", "lines", "a: true", "e: []", "n: NaN",
    ]  # fmt: skip


def test_json_lines_are_blocks(parse) -> None:
    parsed = parse(b'{"a": 1}\n{"a": 2, "b": [3]}\n\n')
    assert parsed.media_type == "application/x-ndjson"
    assert parsed.text == "[0].a: 1\n\n[1].a: 2\n[1].b[0]: 3"


def test_what_only_looks_like_json_is_text(parse) -> None:
    for data in (b"{not json", b"[1, 2", b'{"a": 1} and more', b"{}{}"):
        parsed = parse(data, "x.json")
        assert parsed.media_type == "text/plain"
        assert parsed.text == data.decode()


def test_json_too_deep_is_corrupt(fail) -> None:
    assert fail(b"[" * 200_000 + b"]" * 200_000).failure is Failure.CORRUPT
    assert fail(b'{"a":' * 100_000 + b"1" + b"}" * 100_000).failure is Failure.CORRUPT


def test_json_deep_but_sane_is_read(parse) -> None:
    assert parse(b"[" * 500 + b"1" + b"]" * 500).text == "[0]" * 500 + ": 1"


def test_lone_surrogates_never_come_out(parse) -> None:
    parsed = parse(json.dumps({"a": "x\ud800y\U0001f600"}).encode())
    assert parsed.text == "a: x\ufffdy\U0001f600"


def test_the_same_bytes_parse_the_same(parse) -> None:
    data = "Größe, Maß und Übung; naïve façade".encode("cp1252") * 20
    assert parse(data) == parse(data)
