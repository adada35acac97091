"""Workspaces that are made of backups, also of damaged ones, of older ones and of what a newer version wrote."""

import json
import resource
import subprocess
from pathlib import Path

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from pipeline.paths.names import file_sha256
from tests.jobs.conftest import Cloister, Place, entries
from tests.jobs.test_cli_backup import COMMAND, backups, kept, made, worked

__all__ = ["kept", "worked"]


def test_an_older_state_is_told_as_one(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    made(cloister, tmp_path / "b", "--with-keys")
    worked.drop("sort", "later.txt", "A lease that came later.")
    assert cloister("run", "sort").code == 0
    assert cloister("audit", "witness", "-o", tmp_path / "kept.checkpoint").code == 0
    done = cloister("restore", tmp_path / "b", tmp_path / "old", "--against", tmp_path / "kept.checkpoint")
    assert done.code == 4
    assert "all that the log proves is there, unchanged, and nothing else" in done.out
    assert "OLDER OR ANOTHER than the checkpoint" in done.out
    assert "roll-back: it signs" in done.out
    verified = cloister("audit", "verify", "--against", tmp_path / "kept.checkpoint", "--workspace", tmp_path / "old")
    assert verified.code == 4
    made(cloister, tmp_path / "b")
    done = cloister("restore", tmp_path / "b", tmp_path / "new", "--against", tmp_path / "kept.checkpoint", "--json")
    assert (done.code, done.json["differs"]) == (0, None)


def test_a_damaged_backup_restores_nothing(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    made(cloister, tmp_path / "b")
    (backup,) = backups(tmp_path / "b")
    for name, what in (
        ("workspace/jobs/sort.yaml", "other bytes than when"),
        ("files.jsonl", "other bytes than backup"),
    ):
        whole = (backup / name).read_bytes()
        (backup / name).write_bytes(whole.replace(b"sort", b"SORT"))
        done = cloister("restore", backup, tmp_path / "new")
        assert (done.code, what in done.err) == (2, True), done.err
        assert not (tmp_path / "new").exists()
        (backup / name).write_bytes(whole)
    (backup / "files.jsonl").rename(backup / "elsewhere")
    done = cloister("restore", backup, tmp_path / "new")
    assert (done.code, "files.jsonl: is missing from the backup" in done.err) == (2, True), done.err
    (backup / "elsewhere").rename(backup / "files.jsonl")
    (backup / "workspace/site.yaml").unlink()
    (tmp_path / "new").mkdir()
    assert cloister("restore", backup, tmp_path / "new").code == 2
    assert list((tmp_path / "new").iterdir()) == []
    (backup / "backup.json").write_text("{}")
    assert cloister("restore", backup, tmp_path / "new").code == 2


def test_a_list_that_leads_out_of_the_workspace_is_refused(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    made(cloister, tmp_path / "b")
    (backup,) = backups(tmp_path / "b")
    lines = (backup / "files.jsonl").read_text().replace('"jobs/sort.yaml"', '"jobs/../../out.yaml"')
    (backup / "files.jsonl").write_text(lines)
    about = json.loads((backup / "backup.json").read_text())
    digest = file_sha256(backup / "files.jsonl")
    (backup / "backup.json").write_text(json.dumps({**about, "files_sha256": digest}))
    done = cloister("restore", backup, tmp_path / "new")
    assert (done.code, "leads out of the workspace" in done.err) == (2, True)
    assert not (tmp_path / "out.yaml").exists()


def test_a_backup_of_a_newer_workspace_is_refused(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    made(cloister, tmp_path / "b")
    (backup,) = backups(tmp_path / "b")
    (backup / "workspace/version.json").write_text('{"format": 2, "version": "9.1.0"}')
    done = cloister("restore", backup, tmp_path / "new")
    assert (done.code, "which Cloister 9.1.0 wrote" in done.err) == (2, True)
    assert not (tmp_path / "new").exists()
    about = json.loads((backup / "backup.json").read_text())
    (backup / "backup.json").write_text(json.dumps({**about, "format": 2, "version": "9.2.0"}))
    assert "use Cloister 9.2.0 or newer" in cloister("restore", backup, tmp_path / "new").err


def test_a_site_that_this_version_does_not_understand_is_refused_first(
    worked: Place, cloister: Cloister, tmp_path: Path
) -> None:
    """A newer version of the same format may know more keys."""
    made(cloister, tmp_path / "b")
    (backup,) = backups(tmp_path / "b")
    for name in ("workspace/site.yaml", "files.jsonl", "backup.json"):  # as that version would have made them
        before = file_sha256(backup / name)
        with (backup / name).open("a") as file:
            file.write("newer: {}\n" if name.endswith("yaml") else "\n" if name.endswith("json") else "")
        after = file_sha256(backup / name)
        for each in ("files.jsonl", "backup.json"):
            (backup / each).write_text((backup / each).read_text().replace(before, after))
    about = json.loads((backup / "backup.json").read_text())
    (backup / "backup.json").write_text(json.dumps({**about, "files_sha256": file_sha256(backup / "files.jsonl")}))
    done = cloister("restore", backup, tmp_path / "new")
    assert (done.code, "unknown key 'newer'" in done.err) == (2, True), done.err
    assert not (tmp_path / "new").exists()


def test_no_room_restores_nothing(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    """A limit on the size of files, which the kernel tells of as it does of a full disk."""
    (worked.root / "models" / "more.gguf").write_bytes(b"x" * 3_000_000)
    made(cloister, tmp_path / "b")
    (tmp_path / "new").mkdir()
    done = subprocess.run(
        [*COMMAND, "restore", str(tmp_path / "b"), str(tmp_path / "new")], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
    )  # fmt: skip
    assert (done.returncode, "models/more.gguf: File too large" in done.stderr) == (2, True), done.stderr
    assert not any((tmp_path / "new").iterdir())


def test_a_backup_that_was_never_right_says_so(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    (part,) = worked.parts("sort")
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    made(cloister, tmp_path / "b", code=4)
    done = cloister("restore", tmp_path / "b", tmp_path / "new")
    assert (done.code, "NOT RIGHT     when it was made" in done.out) == (4, True)


def test_the_restored_log_says_what_it_was_restored_from(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    made(cloister, tmp_path / "b", "--with-keys")
    (backup,) = backups(tmp_path / "b")
    before = json.loads((backup / "backup.json").read_text())
    done = cloister("restore", backup, tmp_path / "new")
    assert (done.code, "not recorded" in done.err) == (0, False)
    new = Place(tmp_path / "new")
    last = entries(new)[-1]
    assert [last[name] for name in ("type", "backup", "made", "size", "root")] == [
        "restored", backup.name, before["made"], before["size"], before["root"]
    ]  # fmt: skip
    assert (last["keys"], last["wrong"], last["n"]) == (True, 0, before["size"])
    assert entries(new)[:-1] == entries(worked)[: before["size"]]
    assert cloister("audit", "verify", "--workspace", new.root).code == 0
    assert entries(worked, "restored") == []
    entry, *_ = pipeline.records.read_entries(make_site(open_workspace(new.root)), before["size"])
    said = f"The workspace was restored from the backup {backup.name}, of {before['size']} entries: "
    assert entry.says().startswith(said)
    assert cloister("run", "sort", "--workspace", new.root).code == 0


def test_without_its_keys_the_entry_waits_for_the_next_run(worked: Place, cloister: Cloister, tmp_path: Path) -> None:
    made(cloister, tmp_path / "b")
    assert cloister("restore", tmp_path / "b", tmp_path / "new").code == 0
    new = Place(tmp_path / "new")
    assert entries(new, "restored") == []
    for key in (worked.root / "keys").iterdir():
        (new.root / "keys" / key.name).write_bytes(key.read_bytes())
        (new.root / "keys" / key.name).chmod(0o600)
    assert cloister("run", "sort", "--workspace", new.root).code == 0
    (restored,) = entries(new, "restored")
    assert (restored["keys"], "handed" in restored) == (False, True)
    assert cloister("audit", "verify", "--workspace", new.root).code == 0
