"""Documents whose names are no UTF-8: every command that names them ends as it does for others."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from python_calamine import CalamineWorkbook

import pipeline
from tests.console.browsing import Browser, open_house
from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Place

NAMES = (b"Pr\xfcf 2026.txt", b"B\xfcro/Stra\xdfe.txt", b"\x82\xb1.txt", b"plain.txt", b"\xff\xfe=1+1.txt")
SHOWN = {"Pr\\xfcf 2026.txt", "B\\xfcro/Stra\\xdfe.txt", "\\x82\\xb1.txt", "plain.txt", "\\xff\\xfe=1+1.txt"}
FAILED = b"B\xfcro/f\xe4ilt.pdf"


@pytest.fixture
def named(ready: Place, cloister: Cloister) -> Place:
    """The job `sort` has read them, but for one that failed."""
    ready.job("sort", SORT + "output: {{formats: [parquet, markdown]}}\n")
    inbox = os.fsencode(ready.root / "inbox" / "sort")
    for number, name in enumerate((*NAMES, FAILED)):
        path = os.path.join(inbox, name)  # noqa: PTH118  a Path is no bytes
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        text = "%PDF-1.4 nothing" if name == FAILED else f"{LEASE}{INVOICE}{number}\n"
        Path(os.fsdecode(path)).write_text(text)
    assert cloister("run", "sort").code == 1
    return ready


def documents(out: Path) -> Sequence[tuple[str, str]]:
    """The name and the link of each line of a table."""
    match out.suffix:
        case ".parquet":
            return [(line["document"], line["original"]) for line in pq.read_table(out).to_pylist()]
        case ".jsonl":
            lines = map(json.loads, out.read_text("utf-8").splitlines())
            return [(line["document"], line["original"]) for line in lines]
        case ".csv":
            lines = out.read_text("utf-8-sig").splitlines()[1:]
            return [(line.split(",")[0], line) for line in lines]
    head, *rows = CalamineWorkbook.from_path(str(out)).get_sheet_by_index(0).to_python()
    return [(str(line[0]), str(line[head.index("original")])) for line in rows]


@pytest.mark.parametrize("ending", ["xlsx", "csv", "jsonl", "parquet"])
def test_a_table_has_every_row(named: Place, cloister: Cloister, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"answers.{ending}"
    told = cloister("results", "sort", "-o", out)
    assert (told.code, told.out) == (0, f"6 documents of sort in {out}\n")
    found = dict(documents(out))
    assert found.keys() == SHOWN | {"B\\xfcro/f\\xe4ilt.pdf"}
    assert found["Pr\\xfcf 2026.txt"].count("bytes/Pr\\xfcf 2026.txt") == 1
    assert found["B\\xfcro/f\\xe4ilt.pdf"].count("failed/sort/B\\xfcro/f\\xe4ilt.pdf") == 1


def test_every_command_that_names_them_ends(named: Place, cloister: Cloister, tmp_path: Path) -> None:
    rows = {row["path"]: row for row in cloister("results", "sort", "--json").json}
    assert rows.keys() == SHOWN | {"B\\xfcro/f\\xe4ilt.pdf"}
    page = (next((named.root / "outbox" / "sort" / "_reports").glob("*.html"))).read_text("utf-8")
    assert "../../../failed/sort/B%FCro/f%E4ilt.pdf" in page
    name = "Pr\\xfcf 2026.txt"
    number = rows[name]["audit_index"]
    sheet = tmp_path / "sheet.csv"
    for command in (
        ["results", "sort"], ["results", "sort", "--failed"], ["status"], ["review", "list"],
        ["review", "show", number], ["review", "show", number, "--json"], ["review", "export", "sort", "-o", sheet],
        ["review", "export", "sort", "-o", sheet.with_suffix(".jsonl")], ["review", "import", sheet, "--as", "Anna"],
        ["audit", "show", name], ["audit", "show", name, "--json"], ["audit", "search"], ["audit", "verify"],
        ["audit", "replay", "--sample", "100%"], ["audit", "export", tmp_path / "export"],
        ["backup", tmp_path / "backup"], ["retry", "sort", "--class", "corrupt"], ["rerun", "sort", "--all"],
    ):  # fmt: skip
        told = cloister(*command)
        assert told.code in (0, 1), (command, told.err)


def test_a_folder_of_a_job_is_one_table(named: Place) -> None:
    """A reader of folders of Parquet files takes all that does not begin with `_` or `.` for one."""
    folder = named.root / "outbox" / "sort"
    for table in (ds.dataset(folder).to_table(), pq.read_table(folder), ds.dataset(named.root / "outbox").to_table()):
        assert set(table["path"].to_pylist()) == SHOWN | {"B\\xfcro/f\\xe4ilt.pdf"}
    assert {path.name for path in folder.iterdir()} > {"_markdown", "_reports"}


def test_the_console_shows_them(named: Place) -> None:
    house = open_house(named.root)
    ann = Browser(house, "ann")
    queue = ann.get("/queue?job=sort")
    assert (queue.status, "Pr\\xfcf 2026.txt" in queue.words) == (200, True)
    for row in pipeline.results(house.site, "sort"):
        for page in ("", "/story"):
            assert ann.get(f"/documents/{row['audit_index']}{page}").status == 200
