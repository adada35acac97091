"""The report of an export shows answers, each held against the log, to whom may see them; and who did what."""

import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline import RunPlan
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]
LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"


@pytest.fixture
def ran(plan: RunPlan, drop: Drop) -> RunPlan:
    drop("lease.txt", LEASE)
    drop("other.txt", "Total due: EUR 120.00.\n")
    drop("bad.pdf", b"%PDF-1.4 nothing")
    pipeline.run(plan, observer=Witness())
    return plan


def page(plan: RunPlan, target: Path, **options: bool) -> str:
    """The report of a new export, without the places where lines may break."""
    pipeline.export(plan.site, target, **options)
    return html.unescape((target / "report.html").read_text(encoding="utf-8").replace("<wbr>", ""))


def test_answers_stand_beside_their_documents(ran: RunPlan, tmp_path: Path) -> None:
    rows = {row["path"]: row for row in pipeline.results(ran.site)}
    exported = pipeline.export(ran.site, tmp_path / "first")
    assert exported.answers == 2
    text = page(ran, tmp_path / "out")
    assert "2 answers are shown, each the one that the log proves." in text
    for name in ("lease.txt", "other.txt"):
        assert f"{rows[name]['label']} ({rows[name]['score']:.2f})" in text.split(name)[1][:600]
    assert "3 documents came to an end: 2 done, 1 failed." in text
    assert "1 account wrote to the log." in text
    assert "a document's row, and everything that made it" in text.split("Who did what")[1].split("<h2>")[0]


def test_answers_can_be_left_out(ran: RunPlan, tmp_path: Path) -> None:
    assert pipeline.export(ran.site, tmp_path / "first", answers=False).answers == 0
    text = page(ran, tmp_path / "out", answers=False)
    assert "Answers are not shown: the export was made without them." in text
    assert not any(f"{row['score']:.2f})" in text for row in pipeline.results(ran.site) if row["label"])


def test_a_row_that_was_changed_is_told_and_not_shown(ran: RunPlan, tmp_path: Path) -> None:
    (part,) = ran.outbox.glob("part-*.parquet")
    table = pq.read_table(part)
    labels = ["forged" if name == "lease.txt" else label for name, label in
              zip(table["path"].to_pylist(), table["label"].to_pylist(), strict=True)]  # fmt: skip
    at = table.column_names.index("label")
    pq.write_table(table.set_column(at, table.schema.field(at), [labels]), part)
    text = page(ran, tmp_path / "out")
    assert "forged" not in text
    assert "1 row is not as the log proves, and not shown" in text
    assert "its row is not the one that the log proves" in text
    assert 'class="verdict bad"' in text
    part.unlink()
    text = page(ran, tmp_path / "again")
    assert "2 are no longer kept" in text
    assert 'class="verdict warn"' in text
    part.write_bytes(b"no table")
    assert "2 rows are not as the log proves" in page(ran, tmp_path / "third")


def test_of_private_jobs_nothing_is_shown(plan: RunPlan, drop: Drop, tmp_path: Path) -> None:
    plan = replace(plan, private=True)
    drop("Anna Meier.txt", LEASE)
    pipeline.run(plan, observer=Witness())
    text = page(plan, tmp_path / "out")
    assert "1 document is of private jobs" in text
    assert "Anna" not in text
    assert "landlord" not in text
    row = next(pipeline.results(plan.site))
    assert f"({row['score']:.2f})" not in text


def test_the_first_page_has_verdict_and_words(ran: RunPlan, tmp_path: Path) -> None:
    text = page(ran, tmp_path / "out")
    first = text.split('<div class="first">')[1].split("<h2>Who did what")[0]
    for part in ("The log is whole:", "<h2>Words</h2>", "How it is checked", "Documents by outcome", "private job"):
        assert part in first
    assert "break-after: page" in text
    assert "counter(pages)" in text
