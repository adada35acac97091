"""`cloister audit export`: a folder that whoever gets it can check."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import audit
from jobs.config.load import load_site
from tests.jobs.conftest import LEASE, Cloister, Place


@pytest.fixture
def done(ready: Place, cloister: Cloister) -> Place:
    """A workspace after a run of one document."""
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    return ready


def test_an_export_is_made_recorded_and_checked(done: Place, cloister: Cloister, tmp_path: Path) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    told = cloister("audit", "export", "--from", "2026-01-01", "--to", today, tmp_path / "out")
    assert told.code == 0, told.err
    key = load_site(done.root / "site.yaml").log.public_key
    assert told.out.endswith(f"    python3 {tmp_path}/out/verify.py --key {key}\n")
    verify = [sys.executable, "-I", "-S", tmp_path / "out/verify.py", "--key", key]
    checked = subprocess.run(verify, capture_output=True, text=True, cwd="/")
    assert (checked.returncode, checked.stderr, checked.stdout.splitlines()[-1]) == (0, "", "WHOLE")
    page = (tmp_path / "out/report.html").read_text()
    assert "lease.txt" in page
    assert [entry["type"] for _, entry in audit.read_entries(done.root / "audit", key)][-1] == "exported"
    assert cloister("audit", "verify").code == 0


def test_an_export_of_days_without_records_says_so(done: Place, cloister: Cloister, tmp_path: Path) -> None:
    told = cloister("audit", "export", "--from", "2026-01-01", "--to", "2026-01-02", tmp_path / "out")
    assert told.out.startswith(f"{tmp_path}/out: 0 records, as the signed checkpoint proves: none is of these days.\n")


def test_json(done: Place, cloister: Cloister, tmp_path: Path) -> None:
    told = cloister("audit", "export", tmp_path / "out", "--json").json
    assert told["recorded"]["n"] == told["size"] - 1 == told["records"]
    assert told["folder"] == str(tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "yesterday"], "'yesterday' is no day"),
        (["--to", "2026-02-30"], "'2026-02-30' is no day"),
        (["--from", "2026-02-02", "--to", "2026-02-01"], "lies before 2026-02-02"),
    ],
)
def test_days_that_are_none(place: Place, cloister: Cloister, tmp_path: Path, arguments: list[str], said: str) -> None:
    told = cloister("audit", "export", *arguments, tmp_path / "out")
    assert (told.code, said in told.err) == (2, True), told.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_empty(place: Place, cloister: Cloister) -> None:
    told = cloister("audit", "export", place.root)
    assert (told.code, "no empty folder" in told.err) == (2, True), told.err


def test_while_a_run_holds_the_log(done: Place, cloister: Cloister, tmp_path: Path) -> None:
    log = load_site(done.root / "site.yaml").log
    with audit.Log.open(done.root / "audit", key_path=done.root / log.key, public_key=log.public_key):
        for wait in ("0", "0.3"):
            told = cloister("audit", "export", "--wait", wait, tmp_path / "out")
            assert (told.code, "held by process" in told.err, told.out) == (5, True, ""), told.err
    assert not (tmp_path / "out").exists()
