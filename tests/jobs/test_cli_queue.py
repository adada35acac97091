"""`cloister review list`, `show`, `sample`, `export` and `import`, and `results` by state, in an order, as a table."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.jobs.conftest import INVOICE, LEASE, SORT, Cloister, Done, Place, entries

ORIGIN = "test.example/log"


@pytest.fixture
def filled(ready: Place, cloister: Cloister) -> Place:
    """The job `sort` with twelve documents that are done, one that failed, and a copy."""
    for number in range(6):
        ready.drop("sort", f"lease {number}.txt", f"{LEASE} {number}")
        ready.drop("sort", f"invoice {number}.txt", f"{INVOICE} {number}")
    ready.drop("sort", "empty.txt", "")
    ready.drop("sort", "a copy.txt", f"{LEASE} 0")
    assert cloister("run", "sort").code == 1
    return ready


def rows(cloister: Cloister, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cloister("review", "list", "sort", "--json", "--limit", "100", *options).json["rows"]
    return found


def test_the_list_goes_from_the_least_sure_to_what_has_no_answer(filled: Place, cloister: Cloister) -> None:
    found = rows(cloister)
    assert [row["state"] for row in found] == ["done"] * 12 + ["failed", "duplicate"]
    scores = [row["score"] for row in found[:12]]
    assert scores == sorted(scores)
    pages, after = list[int](), None
    while True:
        more = ("--after", after) if after else ()
        page = cloister("review", "list", "--json", "--limit", "5", *more).json
        assert page["total"] == 14
        pages += [row["entry"] for row in page["rows"]]
        if (after := page["after"]) is None:
            break
    assert pages == [row["entry"] for row in found]
    told = cloister("review", "list", "--limit", "3").out
    assert "3 rows of 14; go on with --after '[" in told
    assert "look at one with: cloister review show ROW" in told
    assert [row["path"] for row in rows(cloister, "--failure", "empty")] == ["empty.txt"]
    assert [row["path"] for row in rows(cloister, "--text", "INVOICE 3")] == ["invoice 3.txt"]
    assert "no row fits" in cloister("review", "list", "--folder", "elsewhere").out
    assert entries(filled, "read.results")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("nosuch",), "jobs/nosuch.yaml: no job 'nosuch'"),
        (("--state", "don"), "--state: 'don'"),
        (("--failure", "x"), "--failure: 'x'"),
        (("--sort", "colour"), "--sort: 'colour'"),
        (("--after", "x"), "--after: 'x' is no place in the order 'score'"),
        (("--decided", "perhaps"), "--decided: 'perhaps'"),
    ],
)
def test_what_is_asked_for_wrongly_is_told(
    filled: Place, cloister: Cloister, options: tuple[str, ...], told: str
) -> None:
    done = cloister("review", "list", *options)
    assert (done.code, told in done.err) == (2, True), done.err


def test_a_row_is_shown_with_its_evidence_and_its_other_rows(filled: Place, cloister: Cloister) -> None:
    named = {row["path"]: row["entry"] for row in rows(cloister)}
    entry, copy = named["a copy.txt"], named["lease 0.txt"]
    told = cloister("review", "show", str(entry)).out
    assert f"row        {entry} of sort" in told
    assert "evidence   0-" in told
    assert "The landlord leases the flat" in told
    assert "original   archive/sort/" in told
    assert f"also       row {copy}, sort: " in told
    assert cloister("review", "show", str(entry), "--json").json["row"]["audit_index"] == entry
    assert cloister("review", "show", "0").code == 2
    assert "no row of the results" in cloister("review", "show", "0").err


def decide(cloister: Cloister, action: str, entry: int, *more: str) -> None:
    done = cloister("review", action, str(entry), "--as", "Ada", *more)
    assert done.code == 0, done.err


def test_a_sample_is_drawn_by_a_seed_and_its_error_told(filled: Place, cloister: Cloister) -> None:
    assert "no sample was drawn" in cloister("review", "sample", "sort").err
    drawn = cloister("review", "sample", "sort", "--size", "4", "--seed", "7", "--json").json
    assert (drawn["population"], drawn["drawn_again"], drawn["error_rate"]) == (12, True, None)
    chosen = [row["entry"] for row in drawn["rows"]]
    (record,) = entries(filled, "sampled")
    assert (record["entries"], record["seed"], record["population"]) == (chosen, "7", 12)
    assert "4 wait for a decision" in cloister("review", "sample", "sort").out
    label = next(row["label"] for row in rows(cloister) if row["entry"] == chosen[0])
    other = "invoice" if label == "lease" else "lease"
    decide(cloister, "correct", chosen[0], "--label", other)
    for entry in chosen[1:3]:
        decide(cloister, "accept", entry)
    told = cloister("review", "sample", "sort").out
    assert "3 decided, 1 of them wrong; 1 wait for a decision" in told
    decide(cloister, "reject", chosen[3], "--reason", "no letter")
    assert (
        "2 of 4 wrong: 50.0%, between 6.8% and 93.2% with 95 % confidence" in cloister("review", "sample", "sort").out
    )
    ended = cloister("review", "sample", "sort", "--json").json
    assert ended["counts"] == {"right": 2, "wrong": 2, "waits": 0, "gone": 0}
    assert ended["drawn_again"]
    back = next(row["entry"] for row in rows(cloister) if row["review_action"] == "corrected")
    decide(cloister, "correct", back, "--label", label)  # it was right after all
    assert cloister("review", "sample", "sort", "--json").json["counts"]["wrong"] == 1
    again = cloister("review", "sample", "sort", "--size", "100", "--json").json
    assert (again["population"], len(again["rows"])) == (8, 8)
    assert not {row["entry"] for row in again["rows"]} & set(chosen)
    assert cloister("audit", "verify").code == 0


def sheet(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


def fill(path: Path, lines: list[dict[str, str]], delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(lines)


def imported(cloister: Cloister, path: Path, code: int = 0) -> Done:
    done = cloister("review", "import", str(path), "--as", "Ada")
    assert done.code == code, done.err
    return done


def test_a_sheet_goes_out_and_comes_back(filled: Place, cloister: Cloister, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    assert "12 rows in" in cloister("review", "export", "sort", "-o", path).out
    lines = sheet(path)
    assert all(line["id"].startswith(f"{ORIGIN}#") for line in lines)
    assert "decides nothing" in imported(cloister, path).out
    label = lines[0]["label"]
    lines[0] |= {"new label": "invoice" if label == "lease" else "lease", "why": "=it says so"}
    lines[1]["action"], lines[2]["action"] = "Accept", "reject"
    fill(path, lines, ";")  # as a spreadsheet in half of Europe saves it
    assert "3 decisions taken" in imported(cloister, path).out
    found = {row["replaced_by"]: row for row in rows(cloister)}
    assert len(found) == 1
    decided = {row["review_action"]: row for row in rows(cloister, "--decided", "any")}
    assert decided.keys() == {"corrected", "accepted", "rejected"}
    assert (decided["corrected"]["label"], decided["corrected"]["review_by"]) == (lines[0]["new label"], "Ada")
    told = imported(cloister, path, code=1)
    assert "3 refused" in told.out
    assert "is no longer the one that holds" in told.out
    assert len(entries(filled, "document")) == 14 + 3
    assert cloister("audit", "verify").code == 0


def test_json_lines_go_out_and_come_back(filled: Place, cloister: Cloister, tmp_path: Path) -> None:
    path = tmp_path / "sheet.jsonl"
    assert cloister("review", "export", "sort", "--limit", "2", "-o", path, "--json").json["rows"] == 2
    first, second = map(json.loads, path.read_text("utf-8").splitlines())
    other = "invoice" if first["answer"]["label"] == ["lease"] else "lease"
    first["new"], second["action"], second["seen"] = {"label": other}, "accept", "0" * 16
    path.write_text(f"{json.dumps(first)}\n\n{json.dumps(second)}\n")
    done = cloister("review", "import", str(path), "--as", "Ada", "--json")
    assert done.code == 1
    taken, refused = done.json["rows"]
    assert (taken["action"], taken["refused"], refused["entry"]) == ("corrected", None, None)
    assert "is not the one that was exported" in refused["refused"]


@pytest.mark.parametrize(
    ("change", "line", "told"),
    [
        ({"action": "perhaps"}, 2, "the action 'perhaps'"),
        ({"action": "correct"}, 2, "the action 'correct' without a new answer"),
        ({"action": "accept", "new label": "lease"}, 2, "the action 'accept' with a new answer"),
        ({"action": "accept", "id": "other.example/log#3"}, 2, "the id 'other.example/log#3' of another log"),
        ({"action": "accept", "id": f"{ORIGIN}#x"}, 2, f"the id '{ORIGIN}#x'"),
        ({"action": "accept", "seen": "12"}, 2, "another `seen`"),
    ],
)
def test_a_line_that_is_not_understood_decides_nothing(
    filled: Place, cloister: Cloister, tmp_path: Path, change: dict[str, str], line: int, told: str
) -> None:
    path = tmp_path / "sheet.csv"
    cloister("review", "export", "sort", "-o", path)
    lines = sheet(path)
    lines[1]["action"] = "accept"
    lines[0] |= change
    fill(path, lines)
    done = imported(cloister, path, code=2)
    assert f"{path}:{line}: {told}" in done.err
    assert len(entries(filled, "document")) == 14
    for broken, why in (
        (b"a;b\n1;2\n", "no column is called id"),
        (b"id,seen,action\n\xff", "not UTF-8"),
        (b"", "no column"),
    ):
        path.write_bytes(broken)
        assert why in imported(cloister, path, code=2).err
    assert "cannot be read" in imported(cloister, tmp_path / "none.csv", code=2).err
    assert "no sheet by its name" in imported(cloister, tmp_path / "sheet.txt", code=2).err


def test_results_by_state_in_an_order_and_as_tables(filled: Place, cloister: Cloister, tmp_path: Path) -> None:
    found = cloister("results", "sort", "--state", "done", "--sort", "score", "--json").json
    assert [row["score"] for row in found] == sorted(row["score"] for row in found)
    assert len(found) == 12
    plain = {row["audit_index"]: row for row in cloister("results", "sort", "--json").json}
    assert all(plain[row["audit_index"]] == row for row in found)
    assert len(cloister("results", "--sort", "newest", "--limit", "3", "--json").json) == 3
    assert "no document is review" in cloister("results", "--state", "review", "--sort", "score").out
    for options, told in ((("--state", "don"), "--state"), (("--sort", "x"), "--sort")):
        assert told in cloister("results", *options).err
    assert "13 documents of sort in" in cloister("results", "sort", "-o", tmp_path / "t.parquet").out
    table = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert {row["state"] for row in table} == {"done", "failed"}
    assert all((tmp_path / row["original"]).is_file() for row in table)
    ordered = cloister("results", "sort", "-o", tmp_path / "t.jsonl", "--sort", "score", "--state", "done", "--json")
    assert ordered.json["rows"] == 12
    scores = [json.loads(line)["score"] for line in (tmp_path / "t.jsonl").read_text("utf-8").splitlines()]
    assert scores == sorted(scores)
    for name in ("t.csv", "t.xlsx"):
        assert cloister("results", "sort", "-o", tmp_path / name).code == 0
    assert "a table of which job?" in cloister("results", "-o", tmp_path / "t.csv").err
    assert "no table is written as doc" in cloister("results", "sort", "-o", tmp_path / "t.doc").err
    for words in (("results", "sort", "-o", tmp_path / "no ne" / "t.csv"),
                  ("review", "export", "sort", "-o", tmp_path / "no ne" / "t.csv")):  # fmt: skip
        told = cloister(*words).err
        assert f"t.csv: cannot be written: there is no folder {tmp_path}/no ne\n" in told
        assert f"    remedy:   mkdir -p '{tmp_path}/no ne'\n" in told
    (tmp_path / "t.jsonl").unlink()
    (tmp_path / "t.jsonl").mkdir()
    assert "cannot be written: " in cloister("results", "sort", "-o", tmp_path / "t.jsonl").err


def test_values_of_fields_are_corrected_by_a_sheet(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    fields = "fields: [{name: total, type: money, description: total due, threshold: 0.0}, {name: state, type: text}]"
    text = (
        SORT.partition("task:")[0] + "task: {{type: extract, " + fields.replace("{", "{{").replace("}", "}}") + "}}\n"
    )
    ready.job("bills", text)
    ready.drop("bills", "bill.txt", INVOICE)
    assert cloister("run", "bills").code == 0
    path = tmp_path / "sheet.csv"
    assert cloister("review", "export", "bills", "-o", path).code == 0
    (line,) = sheet(path)
    assert (line["total"], "new total" in line, "new state (field)" in line) == ("120.00 EUR", True, True)
    fill(path, [line | {"new total": "125.00", "new state (field)": "(none)"}])
    imported(cloister, path)
    (row,) = cloister("results", "bills", "--json").json
    assert [(each["name"], each["value"]) for each in row["fields"]] == [("total", "125.00 EUR"), ("state", None)]
    assert row["review"]["action"] == "corrected"
    told = cloister("review", "correct", row["audit_index"], "--as", "Ada", "--field", "total=130").out
    assert told.splitlines()[1:] == ["total: 130 EUR (EUR is that of the value before)"]
