"""Tables to take away: each field has its type in every format, and no text becomes a formula."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from python_calamine import CalamineWorkbook

from pipeline import Site
from pipeline.document import Row
from pipeline.outbox.placement import archive_folder
from pipeline.outbox.schema import table_schema
from pipeline.outbox.tables import FORMATS, xlsx
from pipeline.outbox.tables.base import TableRefusedError
from pipeline.outbox.tables.csv import as_it_was, harmless
from pipeline.outbox.tables.writing import write_table

EVIL = ('=HYPERLINK("http://evil.example","pay")', "+49 30 1234", "-2+3", "@SUM(A1)", "\t=1", "＝1+1")  # noqa: RUF001
PLACE = {"page": 2, "start": 3, "end": 8, "text": "12.00", "section": None}


def element(name: str, kind: str, value: str | None, score: float | None = 0.5) -> dict[str, Any]:
    evidence = PLACE if value else None
    return {"name": name, "type": kind, "value": value, "verbatim": value, "score": score, "note": None,
            "evidence": evidence}  # fmt: skip


def row(path: str, *fields: dict[str, Any], **more: Any) -> Row:
    """A row as `results` gives it."""
    whole = Row(dict.fromkeys(table_schema().names))
    places = [each["evidence"] for each in fields if each["evidence"]]
    return whole.having(**{
        "job": "bills", "task": "extract", "document": "ab" * 32, "path": path, "size": 10, "state": "done",
        "audit_index": 7, "fields": list(fields), "evidence": places, "finished_at": "2026-11-24T05:00:00.250Z",
        "notes": ["one", "two"], "pages": 3, "language": "de",
    } | more)  # fmt: skip


BILL = (
    element("total", "money", "1234.50 EUR", 0.25), element("rate", "percent", "19.5%"),
    element("day", "date", "2026-03-04"), element("copies", "number", "0.125"), element("by", "text", EVIL[0]),
    element("state", "reference", "RE-17"),
)  # fmt: skip
OTHER = (
    element("total", "money", "-7 JPY"), element("rate", "percent", None, None), element("day", "date", "2026-03"),
    element("copies", "number", "-3"), element("by", "text", None, None), element("tag", "text", "a"),
    element("tag", "text", "b"),
)  # fmt: skip


def written(site: Site, out: Path, *rows: Row) -> Path:
    assert write_table(site, lambda: rows, out) == len(rows)
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    return out


@pytest.fixture
def out(tmp_path: Path) -> Callable[[str], Path]:
    folder = tmp_path / "taken"
    folder.mkdir()
    return lambda name: folder / name


def test_parquet_has_decimals_and_dates(site: Site, out: Callable[[str], Path]) -> None:
    table = pq.read_table(written(site, out("t.parquet"), row("a", *BILL), row("b", *OTHER)))
    types = {field.name: field.type for field in table.schema}
    assert types["total"] == types["copies"] == types["rate"] == pa.decimal128(38, 9)
    assert (types["day"], types["by"], types["finished_at"]) == (
        pa.date32(), pa.string(), pa.timestamp("ms", tz="UTC"),
    )  # fmt: skip
    first, second = table.to_pylist()
    assert (first["total"], first["total currency"], first["rate"]) == (Decimal("1234.50"), "EUR", Decimal("19.5"))
    assert (first["day"], first["day as text"], first["by"]) == (date(2026, 3, 4), None, EVIL[0])
    assert (first["document"], first["state (field)"], first["score"]) == ("a", "RE-17", 0.25)
    assert (first["evidence_page"], first["notes"], first["entry"]) == (2, "one; two", 7)
    assert first["finished_at"] == datetime(2026, 11, 24, 5, 0, 0, 250_000, UTC)
    assert (second["total"], second["total currency"]) == (Decimal(-7), "JPY")
    assert (second["day"], second["day as text"], second["tag"], second["rate"]) == (None, "2026-03", "a; b", None)


def test_a_workbook_has_numbers_dates_and_no_formula(site: Site, out: Callable[[str], Path]) -> None:
    rows = [row(f"{n}.pdf", element("by", "text", text)) for n, text in enumerate(EVIL)]
    path = written(site, out("t.xlsx"), row("a", *BILL), row("=1+1.pdf", *OTHER, reason=EVIL[3]), *rows)
    sheet = CalamineWorkbook.from_path(path).get_sheet_by_name("answers").to_python()
    first, second = (dict(zip(sheet[0], line, strict=True)) for line in sheet[1:3])
    assert (first["total"], first["total currency"], first["day"]) == (1234.5, "EUR", date(2026, 3, 4))
    assert (first["by"], second["document"], second["reason"]) == (EVIL[0], "=1+1.pdf", EVIL[3])
    assert second["day as text"] == "2026-03"
    assert [dict(zip(sheet[0], line, strict=True))["by"].strip() for line in sheet[3:]] == [t.strip() for t in EVIL]
    with zipfile.ZipFile(path) as book:
        text = "".join(book.read(name).decode() for name in book.namelist() if name.endswith(("xml", "rels")))
    assert "<f>" not in text
    assert not re.search(r"Target=\"https?://(?!schemas\.)", text)


def test_a_csv_has_no_formula_and_says_what_it_was(site: Site, out: Callable[[str], Path]) -> None:
    rows = [row(f"{n}.pdf", element("by", "text", text)) for n, text in enumerate(EVIL)]
    data = written(site, out("t.csv"), row("a", *BILL), row("b", *OTHER), *rows).read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    lines = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert (lines[0]["total"], lines[1]["total"], lines[0]["day"]) == ("1234.50", "-7", "2026-03-04")
    said = [line["by"] for line in lines[2:]]
    assert all(text.startswith("'") for text in said)
    assert [as_it_was(text) for text in said] == list(EVIL)


@pytest.mark.parametrize("text", ["", "'", "''", "'=1", "a", "it's", *EVIL, "'+1", "\n="])
def test_what_was_made_harmless_is_found_again(text: str) -> None:
    made = harmless(text)
    assert not made.startswith(("=", "+", "-", "@"))
    assert as_it_was(made) == text


def test_json_lines_have_exact_decimals(site: Site, out: Callable[[str], Path]) -> None:
    lines = [
        json.loads(line) for line in written(site, out("t.jsonl"), row("ä", *BILL)).read_text("utf-8").splitlines()
    ]
    assert lines[0]["total"] == "1234.50"
    assert (lines[0]["document"], lines[0]["evidence_page"], lines[0]["day"]) == ("ä", 2, "2026-03-04")


@pytest.mark.parametrize("ending", FORMATS)
def test_the_original_is_a_link_beside_the_table(site: Site, tmp_path: Path, ending: str) -> None:
    bytes_ = archive_folder(site.root, "bills", "ab" * 32) / "bytes"
    bytes_.mkdir(parents=True)
    (bytes_ / "ä b#1.pdf").write_bytes(b"x")
    table = site.root / "outbox" / f"t.{ending}"
    table.parent.mkdir()
    write_table(site, lambda: [row("post/ä b#1.pdf"), row("gone", document="cd" * 32)], table)
    wanted = f"../archive/bills/ab/{'ab' * 32}/bytes/ä b#1.pdf"
    assert (table.parent / wanted).is_file()
    if ending == "xlsx":
        with zipfile.ZipFile(table) as book:
            assert "bytes\\%C3%A4%20b%231.pdf" in book.read("xl/worksheets/_rels/sheet1.xml.rels").decode()
    else:
        told = pq.read_table(table).to_pylist() if ending == "parquet" else None
        told = told or ([json.loads(line) for line in table.read_text("utf-8").splitlines()] if ending == "jsonl" else
                        list(csv.DictReader(io.StringIO(table.read_text("utf-8-sig")))))  # fmt: skip
        assert [each["original"] or None for each in told] == [wanted, None]


@pytest.mark.parametrize("ending", FORMATS)
def test_answers_of_every_task_and_no_row_at_all(site: Site, out: Callable[[str], Path], ending: str) -> None:
    more: Row = {"fields": None, "evidence": []}
    written(site, out(f"none.{ending}"))
    out(f"none.{ending}").unlink()
    answer = json.dumps({"who": {"name": "Ada"}, "sum": 3, "quotes": ["x", "y"], "is": True})
    values = [{"pointer": "/sum", "value": "3", "score": 0.125, "evidence": None}]
    rows = (
        row("c", task="classify", label="x", score=0.5, scores=[], **more),
        row("s", task="summarize", summary="=s", sentences=[], **more),
        row("q", task="ask", answer=answer, values=values, **more),
        row("b", task="batch", custom_id="7", line=1, status_code=200, body="{}", **more),
        row("f", task="classify", state="failed", failure="empty", reason="no text", **more),
        row("odd", task="classify", label="\x00\x01\uffff", **more),
    )  # fmt: skip
    path = written(site, out(f"t.{ending}"), *rows)
    if ending == "jsonl":
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert (lines[0]["label"], lines[1]["summary"]) == ("x", "=s")
        assert (lines[2]["who.name"], lines[2]["sum"], lines[2]["quotes"], lines[2]["is"]) == (
            "Ada",
            "3",
            "x; y",
            "true",
        )
        assert (lines[2]["score"], lines[3]["status_code"], lines[4]["reason"]) == (0.125, "200", "empty: no text")


def test_a_sheet_that_is_full_is_refused_and_leaves_nothing(
    site: Site, out: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "_MOST_LINES", 2)

    def rows() -> Iterator[Row]:
        return (row(str(n)) for n in range(3))

    with pytest.raises(TableRefusedError, match="write CSV or Parquet"):
        write_table(site, rows, out("t.xlsx"))
    assert list(out("t.xlsx").parent.iterdir()) == []


def test_long_texts_and_long_numbers_stay_whole_where_they_can(site: Site, out: Callable[[str], Path]) -> None:
    number = "12345678901234567.25"
    path = written(site, out("t.xlsx"), row("a", element("n", "number", number), element("t", "text", "x" * 40_000)))
    head, line = CalamineWorkbook.from_path(path).get_sheet_by_name("answers").to_python()
    told = dict(zip(head, line, strict=True))
    assert told["n"] == number  # a spreadsheet's number would lose digits
    assert len(told["t"]) == 32_767
    path.unlink()
    table = pq.read_table(written(site, out("t.parquet"), row("a", element("n", "number", number))))
    assert table.to_pylist()[0]["n"] == Decimal(number)
