"""The commands say where the report of a night is, and what an export shows."""

from datetime import UTC, datetime
from pathlib import Path

from pipeline.records.nights import night_of
from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place


def test_run_ends_with_the_report_and_status_names_it(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    before = night_of(datetime.now(UTC))
    told = cloister("run", "sort")
    (page,) = (ready.root / "outbox" / "sort" / "_reports").glob("report-*.html")
    assert page.name.startswith(f"report-{before}") or night_of(datetime.now(UTC)) != before
    assert told.out.splitlines()[-1].startswith("  report   ")
    assert told.out.splitlines()[-1].endswith(f"outbox/sort/_reports/{page.name}")
    assert "The one document was answered" in page.read_text()
    assert f"  report   outbox/sort/_reports/{page.name}\n" in cloister("status").out
    assert cloister("status", "--json").json["jobs"][0]["report"] == f"outbox/sort/_reports/{page.name}"
    assert "report   " not in cloister("run", "sort").out, "nothing to do"
    ready.drop("sort", "invoice.txt", INVOICE)
    done = cloister("run", "sort", "--json").json["runs"][0]
    assert (Path(done["report"]).name, done["no_report"]) == (page.name, None)
    assert cloister("audit", "verify").code == 0
    page.unlink()
    assert "report   " not in cloister("status").out


def test_a_run_without_room_for_a_report_says_so_and_stands(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    cloister("run", "sort")
    (page,) = (ready.root / "outbox" / "sort" / "_reports").glob("report-*.html")
    page.unlink()
    page.mkdir()
    ready.drop("sort", "invoice.txt", INVOICE)
    told = cloister("run", "sort")
    assert told.code == 0
    assert "  report   none could be made: " in told.out
    ready.drop("sort", "third.txt", "A third one.\n")
    assert cloister("run", "sort").code == 0, "nor does what waits for its place keep the next run from beginning"
    page.rmdir()
    ready.drop("sort", "fourth.txt", "A fourth one.\n")
    assert cloister("run", "sort").code == 0
    assert page.is_file()
    assert cloister("audit", "verify").code == 0


def test_an_export_says_that_it_shows_answers(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    ready.drop("sort", "lease.txt", LEASE)
    cloister("run", "sort")
    told = cloister("audit", "export", tmp_path / "out").out
    assert "report.html shows 1 answer from the documents; --no-answers leaves them out." in told
    assert "report.html shows" not in cloister("audit", "export", tmp_path / "other", "--no-answers").out
