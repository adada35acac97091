"""The columns of tables to take away are those of the job's settings, whatever its rows hold."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from pipeline import Site
from pipeline.document import Row
from pipeline.outbox.tables.flat import Layout
from pipeline.outbox.tables.writing import write_table
from pipeline.tasks import (
    AskSettings,
    BatchSettings,
    ClassifySettings,
    ExtractSettings,
    Field,
    Label,
    SummarizeSettings,
    Task,
)
from tests.pipeline.outbox.test_tables import element, row

BILLS = ExtractSettings(
    (
        Field("total", "money"),
        Field("rate", "percent"),
        Field("copies", "number"),
        Field("day", "date"),
        Field("parties", "text", many=True),
        Field("parts", "money", many=True),
        Field("number", "reference"),
    )
)
DECIMAL, TEXT = pa.decimal128(38, 9), pa.string()
OF_BILLS = {
    "total": DECIMAL, "total currency": TEXT, "total as text": TEXT, "rate": DECIMAL, "rate as text": TEXT,
    "copies": DECIMAL, "copies as text": TEXT, "day": pa.date32(), "day as text": TEXT, "parties": TEXT, "parts": TEXT,
    "number": TEXT,
}  # fmt: skip
DATA: tuple[tuple[Row, ...], ...] = (
    (),
    (row("a", element("total", "money", "37310 EUR"), element("day", "date", None)),),
    (row("b", element("total", "money", "6.73 EUR"), element("copies", "number", "3")),),
    (row("c", element("total", "money", "0.123456789 EUR"), element("rate", "percent", "19.5%")),),
    (row("d", element("total", "money", "1e3"), element("day", "date", "2026-02-30")),),
    (row("e", element("parts", "money", "1 EUR"), element("parts", "money", "2.5 EUR"), fields=None),),
    (row("f", state="failed", failure="corrupt", fields=None),),
)


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """The folder of the tables."""
    (folder := tmp_path / "taken").mkdir()
    return folder


def schema_of(out: Path, site: Site, task: Task, *rows: Row) -> pa.Schema:
    write_table(site, lambda: rows, out, task)
    return pq.read_schema(out)


def test_a_field_has_one_type_whatever_its_values_are(site: Site, taken: Path) -> None:
    schemas = [schema_of(taken / f"{n}.parquet", site, BILLS, *rows) for n, rows in enumerate(DATA)]
    assert all(schema.equals(schemas[0]) for schema in schemas)
    types = {field.name: field.type for field in schemas[0]}
    names = list(types)
    assert {name: types[name] for name in OF_BILLS} == OF_BILLS
    assert names[names.index("score") + 1 : names.index("evidence_page")] == list(OF_BILLS)
    table = ds.dataset(taken).to_table()
    assert pc.sum(table["total"]).as_py() == Decimal("37316.853456789")
    assert set(filter(None, table["total as text"].to_pylist())) == {"1e3"}
    assert set(filter(None, table["day as text"].to_pylist())) == {"2026-02-30"}


@pytest.mark.parametrize(("ending", "read"), [
    ("jsonl", lambda path: list(json.loads(path.read_text("utf-8").splitlines()[0]))),
    ("csv", lambda path: path.read_text("utf-8-sig").splitlines()[0].split(",")),
])  # fmt: skip
def test_all_formats_have_the_same_columns(
    site: Site,
    taken: Path,
    ending: str,
    read: Callable[[Path], list[str]],
) -> None:
    rows = [row("a", element("total", "money", "5 EUR"))]
    write_table(site, lambda: rows, taken / f"t.{ending}", BILLS)
    assert read(taken / f"t.{ending}") == [column.name for column in layout(BILLS).columns()]


def layout(task: Task) -> Layout:
    found = Layout.of_task(task)
    assert found
    return found


def test_what_the_job_has_no_more_is_kept(site: Site, taken: Path) -> None:
    """A field was called otherwise, had another type, or may have had several values when a row was made."""
    old = row("a", element("amount", "money", "5 EUR"), element("rate", "text", "nineteen"),
              element("day", "date", "2026-01-02"), element("day", "date", "2026-01-03"))  # fmt: skip
    assert schema_of(taken / "t.parquet", site, BILLS, old).equals(schema_of(taken / "u.parquet", site, BILLS))
    (line,) = pq.read_table(taken / "t.parquet").to_pylist()
    assert (line["other_fields"], line["rate"], line["rate as text"]) == ("amount: 5 EUR", None, "nineteen")
    assert (line["day"], line["day as text"]) == (None, "2026-01-02; 2026-01-03")


def test_no_two_columns_have_one_name(site: Site, taken: Path) -> None:
    fields = (
        Field("Total", "money"),
        Field("total", "text"),
        Field("total currency", "text"),
        Field("state", "date"),
        Field("other_fields"),
        Field("state (field)"),
    )
    names = [column.name for column in layout(ExtractSettings(fields)).columns()]
    assert len({name.casefold() for name in names}) == len(names)
    values = [element(field.name, field.type, f"2026-01-0{n}") for n, field in enumerate(fields, 1)]
    write_table(site, lambda: [row("a", *values)], taken / "t.parquet", ExtractSettings(fields))
    (line,) = pq.read_table(taken / "t.parquet").to_pylist()
    told = [line[name] for name in ("total (field)", "total currency (field)", "other_fields (field)")]
    assert told == ["2026-01-02", "2026-01-03", "2026-01-05"]


SCHEMA = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        "due": {"type": "string", "format": "value", "x-type": "date"},
        "sum": {"type": "string", "format": "value", "x-type": "money"},
        "yes": {"type": "boolean"},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "first": {"$ref": "#/$defs/line"},
        "rank": {"enum": [1, 2, 3]},
    },
    "$defs": {
        "line": {"type": "object", "properties": {"what": {"type": "string"}, "price": {"type": "number"}}},
    },
}
ANSWER: dict[str, Any] = {
    "count": 3, "share": None, "either": 2.5, "due": "2026-01-31", "sum": "12.50 EUR", "yes": True,
    "lines": [{"what": "tea", "price": 2}, {"what": "milk", "price": 1.25}], "first": {"what": "tea", "price": 2},
    "rank": 2, "more": "unasked",
}  # fmt: skip


def test_an_answer_has_the_columns_of_its_schema(site: Site, taken: Path) -> None:
    task = AskSettings.from_keys({"question": "what?", "schema": SCHEMA}, "m")
    answers = [
        row(str(n), task="ask", answer=answer, fields=None) for n, answer in enumerate((json.dumps(ANSWER), "{}"))
    ]
    full, empty = (schema_of(taken / f"{n}.parquet", site, task, *answers[:n]) for n in (2, 0))
    assert full.equals(empty)
    types = {field.name: field.type for field in full}
    for name in ("count", "share", "sum", "first.price", "rank"):
        assert types[name] == DECIMAL
    for name in ("either", "yes", "lines.what", "lines.price", "sum currency"):
        assert types[name] == TEXT
    assert types["due"] == pa.date32()
    line = pq.read_table(taken / "2.parquet").to_pylist()[0]
    assert (line["count"], line["first.price"], line["sum"], line["sum currency"]) == (3, 2, Decimal("12.5"), "EUR")
    assert (line["lines.price"], line["yes"], line["either"]) == ("2; 1.25", "true", "2.5")
    assert line["other_fields"] == "more: unasked"


@pytest.mark.parametrize(
    ("task", "names"),
    [
        (ClassifySettings((Label("a", "x"), Label("b", "y"))), ["label", "score"]),
        (SummarizeSettings(sentences=2), ["summary", "score"]),
        (BatchSettings(("m",)), ["score", "custom_id", "status_code", "body"]),
        (AskSettings("what?"), ["score", "quotes", "answer"]),
    ],
)
def test_each_task_has_its_columns(site: Site, taken: Path, task: Task, names: list[str]) -> None:
    schema = schema_of(taken / "t.parquet", site, task)
    assert schema.names[3 : 3 + len(names)] == names


def test_texts_that_are_no_utf8_are_escaped_everywhere(site: Site, taken: Path) -> None:
    task = AskSettings.from_keys({"question": "what?", "schema": {"type": "object"}}, "m")
    odd = [row("a", task="ask", answer=json.dumps({"\ud800": "half \ud83d"}), fields=None)]
    for ending in ("parquet", "csv", "jsonl", "xlsx"):
        for known in (task, None):
            assert write_table(site, lambda: odd, taken / f"t.{ending}", known) == 1
    lines = [json.loads(line) for line in (taken / "t.jsonl").read_text("utf-8").splitlines()]
    assert lines[0]["\\ud800"] == "half \\ud83d"
