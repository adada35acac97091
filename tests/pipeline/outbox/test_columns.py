"""The page names every column as it is, and its examples give what it says."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import pipeline
from pipeline import RunPlan
from pipeline.outbox.schema import table_schema
from pipeline.tasks import ExtractSettings, Field
from tests.pages import blocks, text_of
from tests.pipeline.conftest import Witness, make_plan

PAGE = "pipeline/outbox/README.md"
WORDS: dict[pa.DataType, str] = {pa.string(): "text", pa.int64(): "integer", pa.int32(): "integer",
                                 pa.float64(): "number", pa.timestamp("ms", tz="UTC"): "moment"}  # fmt: skip


def word(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        of = word(type_.value_type)
        return f"list of {of if of == 'text' else f'{of}s'}"
    return "record" if pa.types.is_struct(type_) else WORDS[type_]


def members(type_: pa.DataType) -> set[str]:
    of = type_.value_type if pa.types.is_list(type_) else type_
    return {of.field(at).name for at in range(of.num_fields)} if pa.types.is_struct(of) else set()


def test_every_column_is_named_with_its_type_in_its_order() -> None:
    rows = re.findall(r"^\| (`.*?`) \| ([a-z ]+) \| (.*) \|$", text_of(PAGE).split("## Columns")[1], re.M)
    told = [(name, type_, says) for names, type_, says in rows for name in re.findall(r"`(\w+)`", names)]
    told = told[: len(table_schema())]
    assert [(name, type_) for name, type_, _ in told] == [(field.name, word(field.type)) for field in table_schema()]
    for field, (_, _, says) in zip(table_schema(), told, strict=True):
        assert members(field.type) <= set(re.findall(r"`(\w+)`", says)), field.name


@pytest.fixture
def filled(plan: RunPlan, tiny_model: Path) -> RunPlan:
    """A job of the page's name over two invoices."""
    task = ExtractSettings((Field("total", "money", "total due"), Field("number", "reference", "number")))
    bills = make_plan(plan.site, tiny_model, "invoice-fields", task=task)
    for number in (1, 2):
        (bills.input.folder / f"{number}.txt").write_text(f"Invoice RE-1{number}. Total due: EUR {number}20.50.\n")
    pipeline.run(bills, observer=Witness())
    return bills


def by_pyarrow(made: dict[str, object]) -> list[dict[str, object]]:
    fields = made["fields"]
    assert isinstance(fields, pa.Table)
    return fields.to_pylist()


def by_pandas(made: dict[str, object]) -> list[dict[str, object]]:
    return made["fields"].to_dict("records")  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize(("module", "read"), [("from pyarrow import", by_pyarrow), ("import pandas", by_pandas)])
def test_values_are_taken_out_of_fields(
    filled: RunPlan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    read: Callable[[dict[str, object]], list[dict[str, object]]],
) -> None:
    pytest.importorskip(module.split()[1])
    (code,) = (each for each in blocks(PAGE, "python") if module in each)
    filled.site.root.rename(tmp_path / "office")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.py").write_text(code)
    found = read(runpy.run_path("query.py"))
    rows = [row for row in found if row["name"] == "total"]
    assert [(row["path"], row["type"], row["value"]) for row in sorted(rows, key=lambda row: str(row["path"]))] == [
        ("1.txt", "money", "120.50 EUR"),
        ("2.txt", "money", "220.50 EUR"),
    ]
