"""`cloister init`: a workspace, its key, its empty log; and what a second time leaves alone."""

import subprocess
from pathlib import Path

import pytest

from jobs.cli.init import examples
from jobs.config.load import load_job, load_site
from tests.jobs.conftest import Cloister


def test_a_new_workspace(cloister: Cloister, tmp_path: Path) -> None:
    root = tmp_path / "a b" / "ws"
    done = cloister("init", root)
    assert done.code == 0
    assert "Next:" in done.out
    site = load_site(root / "site.yaml")
    assert site.log.origin.endswith("/ws")
    assert site.log.public_key in done.out
    assert (root / site.log.key).stat().st_mode & 0o777 == 0o600
    assert (root / "keys").stat().st_mode & 0o777 == 0o700
    assert {path.name for path in root.iterdir()} == {
        "site.yaml", "jobs", "inbox", "outbox", "archive", "failed", "models", "keys", "audit", "private", "state",
            "version.json", ".gitignore",
    }  # fmt: skip


def test_the_models_of_the_examples_are_named(cloister: Cloister, tmp_path: Path) -> None:
    told = cloister("init", tmp_path / "ws", "--example", "invoice-fields", "--example", "report-digest").out
    assert [line.split()[-1] for line in told.splitlines() if "model import" in line] == ["all-minilm-l6-v2-q8_0"]
    told = cloister("init", tmp_path / "other").out
    assert "--name NAME" in told
    assert "cloister new JOB; or copy an example: cloister init . --example " in told
    assert "begin one: cloister new JOB" in cloister("status", "--workspace", tmp_path / "other").out


def test_every_example_is_a_good_job_and_is_copied(cloister: Cloister, tmp_path: Path) -> None:
    names = sorted(examples())
    assert names
    done = cloister("init", tmp_path / "ws", *(word for name in names for word in ("--example", name)), "--json")
    assert done.json["jobs"] == names
    for name in names:
        assert load_job(tmp_path / "ws" / "jobs" / f"{name}.yaml").name == name
        assert (tmp_path / "ws" / "inbox" / name).is_dir()


def test_again_it_only_adds(cloister: Cloister, tmp_path: Path) -> None:
    root, name = tmp_path / "ws", sorted(examples())[0]
    cloister("init", root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    (root / "failed").rmdir()
    done = cloister("init", root, "--example", name)
    assert done.code == 0
    assert done.out.startswith("Completed")
    assert {path: path.read_bytes() for path in before} == before
    assert (root / "failed").is_dir()
    changed = root / "jobs" / f"{name}.yaml"
    changed.write_text("job: mine\n")
    assert cloister("init", root, "--example", name).code == 2
    assert changed.read_text() == "job: mine\n"
    assert cloister("init", root, "--origin", "another").code == 2


def test_no_workspace_within_the_folders_of_another(
    cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "ws"
    cloister("init", root)
    (root / "inbox").rmdir()
    (tmp_path / "scans").mkdir()
    (root / "inbox").symlink_to(tmp_path / "scans")
    for inner in ("inbox/a/b", "outbox", "audit/x", "state/new"):
        done = cloister("init", root / inner)
        assert (done.code, f"of the workspace {root}, which keeps its own" in done.err) == (2, True), inner
        assert not (root / inner / "site.yaml").exists()
    assert not list((tmp_path / "scans").iterdir())
    monkeypatch.chdir(root / "outbox")
    assert cloister("init", "x").code == 2
    assert cloister("init", "../../other").code == 0, "another place, whose path leads through the workspace"
    assert cloister("init", tmp_path / "archive" / "a").code == 0, "a folder of that name, and no workspace"


def test_a_folder_with_something_in_it_is_left_alone(cloister: Cloister, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    done = cloister("init", tmp_path)
    assert done.code == 2
    assert "choose another folder" in done.err
    assert cloister("init", tmp_path / "mine.txt").code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unknown_example_makes_nothing(cloister: Cloister, tmp_path: Path) -> None:
    done = cloister("init", tmp_path / "ws", "--example", "nothing-such")
    assert done.code == 2
    assert "one of " in done.err
    assert not (tmp_path / "ws").exists()


def test_an_origin_that_no_checkpoint_may_bear(cloister: Cloister, tmp_path: Path) -> None:
    assert cloister("init", tmp_path / "ws", "--origin", "a b").code == 2
    assert not (tmp_path / "ws").exists()


def test_git_commits_neither_keys_nor_documents(cloister: Cloister, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", root], check=True)
    done = cloister("init", root, "--example", "invoice-fields")
    assert done.code == 0
    assert "made .gitignore: /audit/, /inbox/, /outbox/, /archive/, /failed/, /models/, /keys/" in done.out
    for name in ("inbox/invoice-fields/a.txt", "outbox/a", "archive/a", "failed/a", "state/a", "models/a", "private/a"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    subprocess.run(["git", "-C", root, "add", "--all"], check=True)
    files = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    assert files == [".gitignore", "jobs/invoice-fields.yaml", "jobs/job.schema.json", "site.yaml", "version.json"]


def test_a_gitignore_that_is_there_keeps_every_byte(cloister: Cloister, tmp_path: Path) -> None:
    root, theirs = tmp_path / "ws", b"*.swp\nkeys\n/archive/\n\xff"
    root.mkdir()
    (root / ".gitignore").write_bytes(theirs)
    assert "added to .gitignore: /audit/, /inbox/, /outbox/, /failed/, /models/, /private/, /state/" in (
        cloister("init", root).out
    )
    after = (root / ".gitignore").read_bytes()
    assert after.startswith(theirs + b"\n# ")
    assert b"/keys/" not in after
    again = cloister("init", root, "--json")
    assert again.json["told"] == []
    assert (root / ".gitignore").read_bytes() == after
    (root / ".gitignore").write_text("*\n")
    assert cloister("init", root, "--json").json["told"] == []
