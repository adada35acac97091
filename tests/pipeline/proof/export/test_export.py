"""What an export holds, and where it is put."""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import audit
import pipeline
from pipeline import Site
from pipeline.proof.export.mirror import SCHEMA
from tests.pipeline.conftest import make_site
from tests.pipeline.proof.export.logs import DAYS, check, document, fill, names, without_key


def test_it_holds_the_days_asked_for_and_what_proves_them(made: tuple[Site, Path]) -> None:
    site, folder = made
    lines = (folder / "records.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["day"] for line in lines] == ["2026-11-02"] * 300
    assert lines == [audit.canonical(entry) for _, entry in audit.read_entries(site.audit, site.public_key)][300:600]
    bundles = {"log/tile/entries/001", "log/tile/entries/002.p/190"}
    assert {name for name in names(folder) if "/entries/" in name} == bundles
    assert {name for name in names(folder) if not name.startswith("log/")} == {
        "SHA256SUMS", "export.json", "export.proof", "keys/log.pub", "keys/rotated-000000000700.proof",
        "keys/until-000000000700.pub", "records.jsonl", "records.parquet", "report.html", "verify.py",
    }  # fmt: skip
    told = audit.check_proof((folder / "export.proof").read_text(), site.public_key)
    assert (told.entry["type"], told.entry["first"], told.entry["end"]) == ("exported", 300, 600)
    code, out = check(folder, "--key", site.public_key)
    assert (code, out.splitlines()[-1]) == (0, "WHOLE")
    assert "records  300 to before 600, 2026-11-02T00:00:00.000000Z to 2026-11-03" in out


def test_it_is_checked_by_python_alone(made: tuple[Site, Path], tmp_path: Path) -> None:
    """No packages, no environment, the file that is in the folder; also by the oldest Python that is promised, if it
    is here."""
    site, folder = made
    oldest = sorted(Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8"))[:1]
    for python in [sys.executable, *map(str, oldest)]:
        command = [python, "-I", "-S", "verify.py", "--key", site.public_key]
        done = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), python
        assert done.stdout.endswith("WHOLE\n")
    summed = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, capture_output=True)
    assert (summed.returncode, summed.stdout) == (0, b"")


def test_while_another_holds_the_log_nothing_is_exported(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 3})
    with (
        audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key),
        pytest.raises(audit.LogHeld),
    ):
        pipeline.export(site, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["ws"]


def test_it_waits_for_the_log_and_takes_what_was_committed_meanwhile(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 3})
    log = audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key)

    def end() -> None:
        log.commit([document(3)])
        log.close()

    ending = threading.Timer(0.6, end)
    ending.start()
    exported = pipeline.export(site, tmp_path / "out", wait=60)
    ending.join()
    assert (exported.records, exported.recorded.n) == (4, 4)
    assert check(tmp_path / "out", "--key", site.public_key)[0] == 0, check(tmp_path / "out")[1]


def test_whoever_cannot_write_the_log_gets_an_export_that_says_so(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 3})
    exported = pipeline.export(without_key(site), tmp_path / "out")
    assert (exported.recorded.n, exported.recorded.handed, exported.records) == (None, False, 3)
    assert "the signing key cannot be read" in str(exported.recorded.why)
    code, out = check(tmp_path / "out", "--key", site.public_key)
    assert (code, out.splitlines()[-1]) == (3, "LOG AND RECORDS ARE WHOLE, the other files unsigned")


@pytest.mark.parametrize(
    "days", ["1 2 3 1 2 3", "3 1 1 2", "2 3 3 1", "3 2 1", "1 3 1 3", "1 3", "3 1", "2", "1 1 3 3 2 3 1"]
)
@pytest.mark.parametrize("each", [1, 300])
def test_ranges_of_a_log_whose_clock_was_set_back(tmp_path: Path, days: str, each: int) -> None:
    """All that lies in the range is there, and what lies beside it shows that, in an export with the key or without."""
    site = make_site(tmp_path / "ws")
    order = [DAYS[int(day) - 1] for day in days.split()]
    for day in order:
        fill(site, {day: each})
    for held in (without_key(site), site):
        out = tmp_path / f"out-{held.key_file.name}"
        exported = pipeline.export(held, out, date(2026, 11, 2), date(2026, 11, 2))
        inside = [n for n in range(len(order) * each) if order[n // each] == DAYS[1]]
        assert set(inside) <= set(range(exported.first, exported.first + exported.records))
        code, told = check(out, "--key", site.public_key)
        assert code == (0 if held is site else 3), told


@pytest.mark.parametrize(
    ("since", "until", "records"),
    [(None, None, 5), ("2026-11-01", None, 5), (None, "2026-11-02", 4), ("2026-11-02", "2026-11-02", 2),
     ("2026-10-01", "2026-10-31", 0), ("2026-12-01", None, 0), ("2026-11-03", "2026-11-03", 1)],
)  # fmt: skip
def test_ranges(tmp_path: Path, since: str | None, until: str | None, records: int) -> None:
    site = make_site(tmp_path / "ws")
    fill(site, dict(zip(DAYS, (2, 2, 1), strict=True)))
    first, last = (date.fromisoformat(day) if day else None for day in (since, until))
    assert pipeline.export(site, tmp_path / "out", first, last).records == records
    assert len((tmp_path / "out/records.jsonl").read_bytes().splitlines()) == records
    assert check(tmp_path / "out")[0] == 0, check(tmp_path / "out")[1]


def test_an_empty_log_is_exported(tmp_path: Path) -> None:
    pipeline.export(make_site(tmp_path / "ws"), tmp_path / "out")
    assert check(tmp_path / "out")[0] == 0, check(tmp_path / "out")[1]


def test_the_table_is_the_records(made: tuple[Site, Path]) -> None:
    table = pq.read_table(made[1] / "records.parquet")
    assert table.schema.equals(SCHEMA)
    rows = table.to_pylist()
    assert [row["entry"].encode() for row in rows] == (made[1] / "records.jsonl").read_bytes().splitlines()
    assert [row["n"] for row in rows] == list(range(300, 600))
    assert {(row["time"].isoformat(), row["state"], row["reason"]) for row in rows} == {
        ("2026-11-02T12:00:00+00:00", "done", None)
    }


class Page(html.parser.HTMLParser):
    """The tags of a page, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_report_escapes_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    hostile = '"><script>alert(1)</script>\u202e\x1b[2J'
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        log.commit([document(1, path=hostile, reason=hostile, state="failed", failure="corrupt", job=hostile),
                    {"type": hostile, "run": hostile, "what": hostile},
                    {"type": "run.started", "run": "r", "job": hostile},
                    {"type": "run.finished", "run": "r", "job": "j", "seen": 1, "failed": 1, "interrupted": True},
                    {"type": "document", "run": "r"}])  # fmt: skip
    pipeline.export(site, tmp_path / "out")
    text = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "a", "form", "b"}
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "href", "style")}
    assert not re.search(r"url\(|@import|https?:", text)
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "@page" in text


def test_an_export_behind_what_a_killed_commit_left(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 3})
    with next((site.audit / "entries").iterdir()).open("ab") as segment:
        segment.write(b'{"boot":"')
    exported = pipeline.export(site, tmp_path / "out")
    assert exported.recorded.n == 4
    assert check(tmp_path / "out", "--key", site.public_key)[0] == 0, check(tmp_path / "out")[1]


def test_the_empty_folder_in_which_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    assert pipeline.export(make_site(tmp_path / "ws"), Path()).folder == tmp_path / "out"
    assert check(tmp_path / "out")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "ws"]


KILLED = """\
import os, signal, sys
from pathlib import Path
from pipeline.proof.export.folder import _beside
with _beside(Path(sys.argv[1])):
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""


def test_what_killed_exports_left_is_removed_by_the_next_one_to_the_same_place(tmp_path: Path) -> None:
    site, target = make_site(tmp_path / "ws"), tmp_path / "out"
    (tmp_path / ".out-mine").mkdir()
    stopped = subprocess.Popen([sys.executable, "-c", KILLED, str(target), "SIGSTOP"])
    try:
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        for other in (target, tmp_path / "out-2"):
            subprocess.run([sys.executable, "-c", KILLED, str(other), "SIGKILL"], check=False)
        left = {path.name for path in tmp_path.glob(".out-*")}
        pipeline.export(site, target)
        stays = {path.name for path in tmp_path.glob(".out-*")}
    finally:
        stopped.kill()
        stopped.wait()
    assert (len(left), len(left - stays), ".out-mine" in stays) == (4, 1, True)
    assert [name.startswith(".out-cloister-export-") for name in left - stays] == [True]


def test_an_empty_log_does_not_go_on_from_a_kept_checkpoint(tmp_path: Path) -> None:
    """Made by whoever has the key, without a record of the export."""
    site = make_site(tmp_path / "ws")
    pipeline.export(without_key(site), tmp_path / "out")
    fill(site, {DAYS[0]: 3})
    kept = shutil.copy(site.audit / "checkpoint", tmp_path / "kept")
    assert check(tmp_path / "out")[0] == 3
    code, out = check(tmp_path / "out", "--against", kept)
    assert (code, "WRONG    log/checkpoint: not of this log" in out) == (1, True), out


def test_a_folder_with_something_in_it_is_left_alone(made: tuple[Site, Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    pipeline.export(made[0], tmp_path / "out", date(2026, 11, 1), date(2026, 11, 1))
    before = names(tmp_path / "out")
    with pytest.raises(FileExistsError):
        pipeline.export(made[0], tmp_path / "out")
    assert names(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_log_that_was_altered_is_not_exported(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 30})
    segment = site.audit / "entries/000000000000.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b"<b>7</b>", b"<b>8</b>"))
    with pytest.raises(audit.LogUntrusted, match="entry 7 "):
        pipeline.export(site, tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))
