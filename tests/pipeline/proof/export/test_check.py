"""An export proves itself: its verifier takes what was written, and names whatever was changed since."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import audit
import pipeline
from pipeline import Site
from tests.pipeline.conftest import make_site
from tests.pipeline.proof.export.logs import DAYS, check, fill, names


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
        shutil.copy(audit.VERIFIER, folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
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
