"""Backups that are made while work goes on, are cut off, find no room or are damaged; and what comes of them."""

import contextlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.backup import making
from tests.jobs.conftest import Cloister, Place, entries

COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()"]
MANY = "\noutput: {{part_documents: 1, formats: [parquet, markdown]}}\n"


def files(root: Path) -> dict[str, bytes]:
    """What lies there that is no cache."""
    there = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in there.items() if not name.startswith("state/")}


def backups(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def made(cloister: Cloister, folder: Path, *options: str, code: int = 0) -> dict[str, Any]:
    done = cloister("backup", folder, *options, "--json")
    assert done.code == code, done.err
    said: dict[str, Any] = done.json
    return said


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A workspace in which two documents were answered and one failed."""
    place = Place(tmp_path_factory.mktemp("kept") / "ws")
    run(place.root.parent, "init", "ws", "--origin", "test.example/log")
    shutil.copy(tiny_model, place.root / "models" / "tiny.gguf")
    place.job("sort")
    place.drop("sort", "lease.txt", "The tenant leases the flat.")
    place.drop("sort", "invoice.txt", "An invoice of 7 EUR.")
    place.drop("sort", "empty.txt", "")
    run(place.root, "run", "sort", code=1)
    return place.root


def run(folder: Path, *arguments: str, code: int = 0) -> None:
    done = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr


@pytest.fixture
def worked(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A copy of that workspace, in which commands run."""
    root = shutil.copytree(kept, tmp_path / "ws")
    monkeypatch.chdir(root)
    monkeypatch.delenv("CLOISTER_WORKSPACE", raising=False)
    return Place(root)


def test_what_is_restored_is_what_was_there(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    worked.drop("sort", "waits.txt", "Another lease.")
    before = files(worked.root)
    said = made(cloister, tmp_path / "b", "--with-keys")
    assert (said["right"], said["keys"], said["left_out"]) == (True, True, {})
    done = cloister("restore", tmp_path / "b", tmp_path / "new")
    assert done.code == 0
    assert "all that the log proves is there, unchanged, and nothing else" in done.out
    after = files(tmp_path / "new")
    assert [name for name in {*before, *after} if not name.startswith("audit/") and after[name] != before[name]] == []
    log = [name for name in before if name.startswith("audit/entries/")]
    assert [after[name].startswith(before[name]) for name in log] == [True]  # and the entry of what it is made of
    (backed_up,) = entries(worked, "backed_up")
    assert (backed_up["files"], backed_up["keys"], backed_up["right"]) == (said["files"], True, True)
    done = cloister("run", "sort", "--workspace", tmp_path / "new")
    assert done.code == 0
    assert "1 document" in done.out


def test_the_second_takes_only_what_changed(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    model = (worked.root / "models" / "tiny.gguf").stat().st_size
    assert made(cloister, tmp_path / "b")["copied_bytes"] > model
    said = made(cloister, tmp_path / "b")
    assert said["linked"] > 10
    assert said["copied_bytes"] < model / 2
    first, second = backups(tmp_path / "b")
    inodes = [(each / "workspace/models/tiny.gguf").stat().st_ino for each in (first, second)]
    assert inodes[0] == inodes[1] != (worked.root / "models/tiny.gguf").stat().st_ino
    shutil.rmtree(first)
    assert cloister("restore", second, tmp_path / "new").code == 0


def test_where_there_are_no_hard_links_files_are_copied(
    worked: Place, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a share of another system, which says so with EPERM or EOPNOTSUPP."""
    made(cloister, tmp_path / "b")

    def refuses(*_: Any, **__: Any) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuses)
    said = made(cloister, tmp_path / "b")
    assert (said["linked"], said["right"]) == (0, True)


def test_keys_are_left_out_unless_asked_for_and_lie_apart(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    worked.root.joinpath("keys/people.json").write_text("{}")
    made(cloister, tmp_path / "without")
    assert not list((tmp_path / "without").rglob("*.key"))
    assert not list((tmp_path / "without").rglob("people.json"))
    made(cloister, tmp_path / "with", "--with-keys")
    (backup,) = backups(tmp_path / "with")
    assert {path.name for path in (backup / "keys").iterdir()} >= {"log.key", "people.json"}
    assert not list((backup / "workspace").rglob("*.key"))
    (backup / "keys").rename(tmp_path / "apart")
    done = cloister("restore", backup, tmp_path / "new")
    assert done.code == 0
    assert "bring them to keys/" in done.out
    assert cloister("run", "sort", "--workspace", tmp_path / "new").code == 2
    shutil.copy(tmp_path / "apart" / "log.key", tmp_path / "new" / "keys")
    assert cloister("run", "sort", "--workspace", tmp_path / "new").code == 0


def test_a_key_that_lies_elsewhere_in_the_workspace_is_left_out_too(
    worked: Place, cloister: Cloister, tmp_path: Path
) -> None:
    (worked.root / "safe").mkdir(mode=0o700)
    (worked.root / "keys" / "log.key").rename(worked.root / "safe" / "l.key")
    site = worked.root / "site.yaml"
    site.write_text(site.read_text().replace("keys/log.key", "safe/l.key"))
    (worked.root / "safe" / "other-name").hardlink_to(worked.root / "safe" / "l.key")
    (worked.root / "keys" / "log.key").symlink_to("../safe/l.key")
    for said in ("safe/l.key", "keys/log.key"):
        site.write_text(site.read_text().replace("safe/l.key", said))
        made(cloister, tmp_path / "b")
    assert not list((tmp_path / "b").rglob("*.key"))
    assert not list((tmp_path / "b").rglob("other-name"))


def test_links_are_not_followed(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    """But for those by which a folder of the workspace itself lies on another disk."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.txt").write_text("not of this workspace")
    (worked.root / "inbox" / "sort" / "l.txt").symlink_to(tmp_path / "secret" / "s.txt")
    (worked.root / "inbox" / "sort" / "f").symlink_to(tmp_path / "secret")
    os.mkfifo(worked.root / "inbox" / "sort" / "pipe")
    (worked.root / "archive").rename(tmp_path / "large")
    (worked.root / "archive").symlink_to(tmp_path / "large")
    said = made(cloister, tmp_path / "b")
    assert sorted(said["left_out"]) == ["inbox/sort/f", "inbox/sort/l.txt", "inbox/sort/pipe"]
    assert not list((tmp_path / "b").rglob("s.txt"))
    assert cloister("restore", tmp_path / "b", tmp_path / "new").code == 0
    assert not (tmp_path / "new" / "archive").is_symlink()


def test_backups_during_a_run_verify_and_go_on_to_the_same_rows(
    ready: Place, cloister: Cloister, tmp_path: Path
) -> None:
    """A run commits part by part in another process, while one backup after the other is made."""
    with ready.job("sort").open("a") as job:
        job.write(MANY.format())
    for number in range(20):
        ready.drop("sort", f"{number}.txt", f"Lease number {number} of a flat.\n" * 3)
    (ready.root / "inbox" / "sort" / "0.txt").write_text("")
    with subprocess.Popen(
        [*COMMAND, "run", "sort", "--wait", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        while run.poll() is None:
            done = cloister("backup", tmp_path / "b", "--with-keys", "--json")
            assert done.code == 0 or "files changed while each" in done.err, (done.out, done.err)
    rows = results(cloister, ready.root)
    assert len(rows) == 20
    during = backups(tmp_path / "b")
    assert during
    for number, backup in enumerate(random.Random(1).sample(during, min(2, len(during)))):
        root = tmp_path / f"restored-{number}"
        assert cloister("restore", backup, root).code == 0, backup
        assert cloister("run", "sort", "--workspace", root).code in (0, 1)
        assert results(cloister, root) == rows
        assert cloister("audit", "verify", "--workspace", root).code == 0


def results(cloister: Cloister, root: Path) -> list[tuple[str, str, str]]:
    rows = cloister("results", "sort", "--json", "--workspace", root).json
    return sorted((row["path"], row["state"], row["document"]) for row in rows)


def changing(root: Path, times: int) -> Callable[..., Any]:
    """As `scan`, after a file of the archive changed, the first `times` times."""
    looks = iter(range(times))

    def scan(*arguments: Any, **options: Any) -> Any:
        if next(looks, None) is not None:
            (root / "archive" / "sort" / f"{time.monotonic_ns()}").write_text("comes and goes")
        return real(*arguments, **options)

    real = making.scan
    return scan


def test_what_changes_meanwhile_is_copied_again(
    worked: Place, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "scan", changing(worked.root, 3))
    made(cloister, tmp_path / "b", code=4)  # nobody made those files, which the copy tells as the workspace would
    (backup,) = backups(tmp_path / "b")
    came = {path.relative_to(worked.root) for path in (worked.root / "archive/sort").iterdir()}
    assert len(came) == 2 + 3
    assert all((backup / "workspace" / name).exists() for name in came)


def test_a_workspace_that_never_stands_still_is_told(
    worked: Place, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "scan", changing(worked.root, 1000))
    done = cloister("backup", tmp_path / "b")
    assert done.code == 2
    assert "try again, or when no job is running" in done.err
    assert [path.name for path in (tmp_path / "b").iterdir()] == [".lock"]


@pytest.mark.parametrize("seed", range(3))
def test_a_backup_that_is_killed_leaves_those_before(
    worked: Place, cloister: Cloister, tmp_path: Path, seed: int
) -> None:
    made(cloister, tmp_path / "b")
    (first,) = backups(tmp_path / "b")
    before = files(first)
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*COMMAND, "backup", str(tmp_path / "b")], stdout=quiet, stderr=quiet) as process:
        killed_at = random.Random(seed).uniform(0, 1.2)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(killed_at)
        process.kill()
    assert files(first) == before
    for backup in backups(tmp_path / "b"):
        assert json.loads((backup / "backup.json").read_text())["right"]
    made(cloister, tmp_path / "b")
    assert not list((tmp_path / "b").glob(".*.part"))
    assert cloister("restore", tmp_path / "b", tmp_path / "new").code == 0


def test_no_room_leaves_those_before(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    """A limit on the size of files, which the kernel tells of as it does of a full disk."""
    made(cloister, tmp_path / "b")
    (worked.root / "models" / "more.gguf").write_bytes(b"x" * 3_000_000)
    done = subprocess.run(
        [*COMMAND, "backup", str(tmp_path / "b")], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "models/more.gguf: File too large" in done.stderr
    assert "the backups before are as they were" in done.stderr
    assert len(backups(tmp_path / "b")) == 1
    assert not list((tmp_path / "b").glob(".*.part"))
    assert cloister("restore", tmp_path / "b", tmp_path / "new").code == 0


def _damage(file: Path) -> None:
    """Change a byte, as a disk does: without a trace in the file's times."""
    status = file.stat()
    body = bytearray(file.read_bytes())
    body[len(body) // 2] ^= 1
    file.write_bytes(body)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("pattern", ["jobs/sort.yaml", "outbox/sort/*.parquet", "archive/sort/*/*/bytes/lease.txt"])
def test_a_file_that_rotted_in_one_backup_is_not_taken_into_the_next(
    worked: Place, cloister: Cloister, tmp_path: Path, pattern: str
) -> None:
    """Else each backup after it would be as damaged as it, or be refused."""
    made(cloister, tmp_path / "b")
    (first,) = backups(tmp_path / "b")
    _damage(next((first / "workspace").glob(pattern)))
    done = cloister("backup", tmp_path / "b")
    assert (done.code, f"DAMAGED       {first}, the backup before" in done.out) == (0, True), done.out
    assert cloister("restore", tmp_path / "b", tmp_path / "new").code == 0
    said = made(cloister, tmp_path / "b")
    assert (said["damaged_before"], said["linked"] > 10) == (None, True)


def test_wrapped_keys_that_come_meanwhile_are_not_waited_for(
    worked: Place, cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that reads documents makes one for each; those that a commit needs were there before it. One that is
    wrapped anew is waited for."""
    folder = worked.root / "private/.atrest/documents/ab"
    folder.mkdir(parents=True)
    site = worked.root / "site.yaml"
    site.write_text(site.read_text() + "encryption: {key_file: keys/rest.key}\n")
    assert cloister("encryption", "new", "keys/rest.key").code == 0
    (folder / "there").write_text("wrapped by the key before")
    looks, real = iter(range(1000)), making.scan

    def scan(*arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        (folder / f"{(look := next(looks)):064}").write_text("comes for a document")
        if look == 0:
            (folder / "there").write_text("wrapped anew")
        return found

    monkeypatch.setattr(making, "scan", scan)
    made(cloister, tmp_path / "b")
    assert next(looks) == 3
    (backup,) = backups(tmp_path / "b")
    assert (backup / "workspace" / folder.relative_to(worked.root) / "there").read_text() == "wrapped anew"


def test_folders_that_do_not_fit_are_refused(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    assert "lies in the workspace" in cloister("backup", "b").err
    made(cloister, tmp_path / "b")
    assert "is not empty" in cloister("restore", tmp_path / "b", worked.root).err
    assert "lies in the backup" in cloister("restore", tmp_path / "b", backups(tmp_path / "b")[0] / "new").err
    assert "no folder" in cloister("restore", tmp_path / "nowhere", tmp_path / "new").err
    assert "no backup" in cloister("restore", tmp_path, tmp_path / "new").err
    assert cloister("init", tmp_path / "other", "--origin", "other.example/log").code == 0
    done = cloister("backup", tmp_path / "b", "--workspace", tmp_path / "other")
    assert (done.code, "backups of the log test.example/log" in done.err) == (2, True)
    for place in (tmp_path / "b" / ".lock", tmp_path / "b" / ".lock" / "c"):
        done = cloister("backup", place)
        assert (done.code, "is no folder" in done.err) == (2, True), done.err


def test_a_workspace_that_is_not_right_is_copied_and_told(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    (part,) = worked.parts("sort")
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    said = made(cloister, tmp_path / "b", code=4)
    assert said["right"] is False
