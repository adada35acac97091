"""An export proves itself: its verifier takes what was written, and names whatever was changed since."""

import hashlib
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import audit
import pipeline
from audit import standalone
from pipeline import Site
from pipeline.export.mirror import SCHEMA
from tests.pipeline.conftest import make_site

DAYS = ("2026-11-01", "2026-11-02", "2026-11-03")


def document(i: int, **more: object) -> dict[str, object]:
    return {
        "type": "document", "run": "r", "job": "sort", "path": f"<b>{i}</b> ä.pdf", "document": f"{i:064x}", "size": i,
        "state": "done", "reason": None, "score": 1e-7, "model": "m", "model_sha256": "0" * 64, **more,
    }  # fmt: skip


def fill(site: Site, counts: dict[str, int]) -> None:
    """A log with so many entries a day."""
    uptime = 0
    for day, count in counts.items():
        uptime += 86_400_000_000
        stamp = audit.Stamp(f"{day}T12:00:00.000000Z", "boot", uptime, "host", "user")
        with audit.Log.open(
            site.audit, key_path=site.key_file, public_key=site.public_key, stamp=lambda now=stamp: now
        ) as log:
            log.commit([document(i, day=day) for i in range(count)])


def check(folder: Path, *arguments: object) -> tuple[int, str]:
    """Exit code and output of the verifier that this package has, not of the one in the folder."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = standalone.main([*map(str, arguments), str(folder)])
    return code, out.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, Path]:
    """A log of three days and two keys, and the export of the second day."""
    root = tmp_path_factory.mktemp("made")
    site = make_site(root / "ws")
    fill(site, dict(zip(DAYS, (300, 300, 100), strict=True)))
    site = rotated(site)
    pipeline.export(site, root / "out", date(2026, 11, 2), date(2026, 11, 2))
    return site, root / "out"


def rotated(site: Site) -> Site:
    key = site.root / "keys" / "new.key"
    public = audit.generate_key(key, site.origin)
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        log.rotate({"run": ""}, key_path=key, public_key=public)
    return replace(site, key_file=key, public_key=public)


@pytest.fixture
def copy(made: tuple[Site, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[1], tmp_path / "copy"))


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


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


def changes(data: bytes) -> Iterator[bytes]:
    """A flipped bit, bytes missing and bytes added."""
    for at in (0, len(data) // 2):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield from (data[:-1], data + b"\n")


def test_whatever_is_changed_is_named(made: tuple[Site, Path], copy: Path) -> None:
    for name in names(copy):
        data = (copy / name).read_bytes()
        for changed in changes(data):
            (copy / name).write_bytes(changed)
            code, out = check(copy)
            assert code == 1, name
            assert f"WRONG    {name}: " in out, (name, out)
        (copy / name).write_bytes(data)
    assert check(copy)[0] == 0


def test_whatever_is_taken_away_or_added_is_named(copy: Path) -> None:
    for name in names(copy):
        (copy / name).rename(copy.parent / "away")
        code, out = check(copy)
        missing = f"WRONG    {name}: missing" in out or f"WRONG    SHA256SUMS: does not fit ['{name}']" in out
        assert (code, missing) == (1, True), (name, out)
        (copy / name).symlink_to(copy.parent / "away")
        assert f"WRONG    {name}: missing, or not a regular file" in check(copy)[1]
        (copy / name).unlink()
        (copy.parent / "away").rename(copy / name)
    for name in ("more.txt", "log/tile/0/009", "log/tile/entries/000", "keys/rotated-000000000001.proof", ".x"):
        (copy / name).write_text("x")
        assert f"WRONG    {name}: " in check(copy)[1]
        (copy / name).unlink()


def with_sums(folder: Path) -> None:
    """What a forger does first: SHA256SUMS fit again."""
    lines = [
        f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names(folder) if n != "SHA256SUMS"
    ]
    (folder / "SHA256SUMS").write_text("".join(lines))


@pytest.mark.parametrize("also_export_json", [False, True])
def test_a_forger_without_the_key_is_found(made: tuple[Site, Path], copy: Path, also_export_json: bool) -> None:
    """Each file in turn is changed, and whatever nobody signed made to fit it."""
    about = (copy / "export.json").read_bytes()
    for name in set(names(copy)) - {"SHA256SUMS", "export.json"}:
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        if also_export_json and name in json.loads(about)["files"]:
            told = json.loads(about)
            told["files"][name] = hashlib.sha256((copy / name).read_bytes()).hexdigest()
            (copy / "export.json").write_bytes(audit.canonical(told) + b"\n")
        with_sums(copy)
        code, out = check(copy, "--key", made[0].public_key)
        named = name in out or "export.json: not the one of which entry" in out
        edge = name.startswith("log/tile/0/") and "log/checkpoint: signs another root than log/tile/0 gives" in out
        assert (code, named or edge) == (1, True), (name, out)
        (copy / name).write_bytes(data)
        (copy / "export.json").write_bytes(about)
    with_sums(copy)
    assert check(copy)[0] == 0


def test_a_record_left_out_or_moved_is_named(copy: Path) -> None:
    lines = (copy / "records.jsonl").read_bytes().splitlines(keepends=True)
    for changed in (lines[:-1], lines[1:], [lines[1], lines[0], *lines[2:]], [*lines, lines[-1]]):
        (copy / "records.jsonl").write_bytes(b"".join(changed))
        with_sums(copy)
        assert "WRONG    records.jsonl: not the entries 300 to 599 of the log" in check(copy)[1]


def test_a_narrower_range_than_the_dates_say_is_named(copy: Path) -> None:
    """Somebody who could write export.json says that the range has fewer entries, and leaves them out."""
    about = json.loads((copy / "export.json").read_bytes())
    (copy / "export.json").write_bytes(audit.canonical({**about, "end": 599}) + b"\n")
    lines = (copy / "records.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "records.jsonl").write_bytes(b"".join(lines[:-1]))
    assert "WRONG    records.jsonl: entry 599 is of the range too, and was left out" in check(copy)[1]


@pytest.mark.parametrize(
    "changed",
    [{"files": []}, {"files": {"../../secret": "00"}},
     {"files": {"records.jsonl": 7}}, {"first": "0"}, {"first": None},
     {"size": 10**15}, {"root": "xyz"}, {"root": 5}, {"bundles": [0, 10**15]}, {"bundles": 3}, {"from": 1},
     {"end": 10**15}, {"end": -1}, {"v": 2}],
)  # fmt: skip
def test_lies_in_export_json_are_named_without_the_proof_too(copy: Path, changed: dict[str, object]) -> None:
    """Where the log has no record of the export, nobody signed export.json: it may say anything."""
    (copy / "export.proof").unlink()
    about = json.loads((copy / "export.json").read_bytes())
    (copy / "export.json").write_bytes(audit.canonical({**about, **changed}) + b"\n")
    with_sums(copy)
    code, out = check(copy)
    assert (code, "WRONG    " in out) == (1, True), out


def test_keys_that_are_trusted(made: tuple[Site, Path], tmp_path: Path) -> None:
    site, folder = made
    (earlier,) = audit.key_history(site.audit, site.public_key)
    assert check(folder, "--key", earlier)[0] == 0  # it handed over to the present one
    (tmp_path / "key.txt").write_text(earlier + "\n")
    assert check(folder, "--key", tmp_path / "key.txt")[0] == 0
    assert site.public_key in check(folder)[1]  # shown, to be compared
    other = audit.generate_key(tmp_path / "other", site.origin)
    code, out = check(folder, "--key", other)
    assert (code, f"WRONG    keys/log.pub: not {other}" in out) == (1, True)


@pytest.mark.parametrize(
    ("option", "file", "said"),
    [
        ("--key", "nothing", "nothing cannot be read: No such file or directory\n"),
        ("--key", "words", "--key takes a public key (ORIGIN+HASH+BASE64) or a file with it"),
        ("--key", "bytes", "--key takes a public key"),
        ("--against", "nothing", "nothing cannot be read: No such file or directory\n"),
        ("--against", "words", "--against a kept checkpoint\n"),
        ("--against", "bytes", "--against a kept checkpoint\n"),
        ("--against", "out/export.proof", "--against a kept checkpoint\n"),
        ("--against", "out/export.json", "--against a kept checkpoint\n"),
        ("--key", "+", "--key takes a public key"),
    ],
)
def test_a_wrong_argument_is_no_verdict(
    made: tuple[Site, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, file: str, said: str
) -> None:
    (tmp_path / "words").write_text("no key\n")
    (tmp_path / "bytes").write_bytes(b"GGUF\xff\x00")
    (tmp_path / "out").symlink_to(made[1])
    with pytest.raises(SystemExit) as ended:
        check(made[1], option, file if file == "+" else tmp_path / file)
    told = capsys.readouterr()
    assert (ended.value.code, said in told.err, told.out) == (2, True, ""), told.err
    assert "Errno" not in told.err


def test_a_folder_that_is_not_there_is_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        check(tmp_path / "nowhere")
    assert (ended.value.code, "nowhere cannot be read: No such file" in capsys.readouterr().err) == (2, True)


def test_a_file_that_cannot_be_read_is_told_and_is_no_verdict(copy: Path) -> None:
    """Run by somebody else, for root reads everything."""
    with tempfile.TemporaryDirectory() as place:  # into which others may look
        Path(place).chmod(0o755)
        folder = Path(shutil.copytree(copy, Path(place, "handout")))
        folder.chmod(0o755)
        shutil.copy(audit.VERIFIER, folder)
        (folder / "records.jsonl").chmod(0)
        command = [shutil.which("python3", path=os.defpath) or sys.executable, folder / "standalone.py", folder]
        user = 65534 if os.getuid() == 0 else None
        done = subprocess.run(command, env={}, capture_output=True, text=True, user=user)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "records.jsonl cannot be read: Permission denied" in done.stderr


def wrong(folder: Path) -> list[str]:
    """The files that are accused."""
    code, out = check(folder)
    assert code == 1
    return [line.split(":")[0].removeprefix("WRONG    ") for line in out.splitlines()[:-1]]


@pytest.mark.parametrize("name", ["log/checkpoint", "keys/log.pub", "export.json", "export.proof", "report.html"])
def test_only_the_cause_is_accused(copy: Path, name: str) -> None:
    data = (copy / name).read_bytes()
    for changed in (b"", b"{}\n", b"[]\n", *changes(data)):
        (copy / name).write_bytes(changed)
        assert wrong(copy) == [name]
    (copy / name).unlink()
    assert wrong(copy) == ["SHA256SUMS" if name == "export.proof" else name]


@pytest.mark.parametrize("name", ["export.json", "export.proof", "keys/rotated-000000000700.proof"])
@pytest.mark.parametrize("changed", [b"", b"{}\n", b"[]\n", b"7\n", b'{"v":1}\n', b"x\n\ny\n", b"\xff"])
def test_what_is_wrong_is_told_in_words(copy: Path, name: str, changed: bytes) -> None:
    (copy / name).write_bytes(changed)
    (line,) = [line for line in check(copy)[1].splitlines() if line.startswith(f"WRONG    {name}:")]
    assert not re.search(r"indices|index out of|object|'v'|unpack|Expecting|codec|subscript", line), line


def test_a_kept_checkpoint_shows_another_history(tmp_path: Path) -> None:
    """Rolled back, or written anew, with the right key."""
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 300})
    shutil.copytree(site.root, tmp_path / "before")
    fill(site, {DAYS[1]: 20})
    kept = (site.audit / "checkpoint").read_bytes()
    (tmp_path / "kept").write_bytes(kept)
    pipeline.export(site, tmp_path / "good")
    assert check(tmp_path / "good", "--against", tmp_path / "kept")[0] == 0
    shutil.rmtree(site.root)
    shutil.move(tmp_path / "before", site.root)
    pipeline.export(site, tmp_path / "rolled-back")
    fill(site, {DAYS[2]: 30})
    pipeline.export(site, tmp_path / "forked")
    for name in ("rolled-back", "forked"):
        assert check(tmp_path / name)[0] == 0  # by itself it is a log that could be
        code, out = check(tmp_path / name, "--against", tmp_path / "kept")
        assert (code, "WRONG    log/checkpoint: not of this log" in out) == (1, True), out
    (tmp_path / "kept").write_bytes(kept.replace(b"\n320\n", b"\n319\n"))
    assert "none of the keys here signed it" in check(tmp_path / "good", "--against", tmp_path / "kept")[1]


def test_while_another_holds_the_log_it_says_that_it_is_not_recorded(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    fill(site, {DAYS[0]: 3})
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key):
        exported = pipeline.export(site, tmp_path / "out")
    assert (exported.recorded.n, exported.recorded.handed, exported.records) == (None, True, 3)
    code, out = check(tmp_path / "out", "--key", site.public_key)
    assert (code, out.splitlines()[-1]) == (3, "LOG AND RECORDS ARE WHOLE, the other files unsigned")


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
from pipeline.export.folder import _beside
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
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key):
        pipeline.export(site, tmp_path / "out")
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
