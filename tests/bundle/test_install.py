"""An installation: its versions, how one becomes the current one, and what is refused with nothing changed."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from signal import SIGKILL

import pytest

import audit
from jobs.bundle.install import install
from jobs.bundle.reader import read_bundle
from jobs.bundle.versions import (
    CURRENT,
    PREVIOUS,
    HeldError,
    Machine,
    RefusedError,
    check_machine,
    complete_versions,
    locked,
    roll_back,
    room_needed,
    this_machine,
    version_of,
)
from tests.bundle.disk import FIRST, OTHER, UPDATE, Disk, runs
from tests.bundle.kills import LAUNCHER, Kills
from tests.bundle.small import Small

TODAY = "2026-11-27"
HERE = this_machine()
Refused = Callable[..., str]


@pytest.fixture
def refused(disk: Disk, root: Path) -> Refused:
    """Why an install is refused where there is none yet."""
    return lambda name="first", key=disk.public_key, machine=HERE: refuse(disk, root, name, key, machine)


def refuse(disk: Disk, root: Path, name: str, key: str | None, machine: Machine = HERE) -> str:
    """Why an install is refused; what was in the installation is still there, and nothing else."""
    before = state(root)
    with pytest.raises(RefusedError) as told:
        install(disk.bundle(name), root, key, TODAY, machine, lambda step: None)
    assert state(root) == before
    return str(told.value)


def state(root: Path) -> dict[str, object]:
    """All files of an installation, and where its links lead."""
    return {str(path): path.readlink() if path.is_symlink() else facts(path) for path in sorted(root.rglob("*"))}


def facts(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return (status.st_mode, 0, 0) if path.is_dir() else (status.st_mode, status.st_ino, status.st_size)


@pytest.fixture(scope="module")
def opt(disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation with the first version and its update, by the program, under an umask that lets nobody else in.
    The tests leave it as it is, until the last one."""
    root = tmp_path_factory.mktemp("machine") / "opt"
    before = os.umask(0o077)
    try:
        first = disk.start("first.bundle", "--key", disk.public_key, "--prefix", root)
        update = disk.start("update.bundle", "--prefix", root)
    finally:
        os.umask(before)
    assert (first.returncode, first.stderr, update.returncode, update.stderr) == (0, "", 0, "")
    assert f"  {root}/bin/cloister init office --example correspondence-triage\n" in first.stdout
    assert f"If something is wrong: {root}/bin/cloister bundle rollback\n" in update.stdout
    assert all(f"? {root}/bin/cloister doctor\n" in done.stdout for done in (first, update))
    return root


def test_a_message_has_no_empty_lines() -> None:
    assert str(RefusedError("a", "b")) == "a: b"
    assert str(RefusedError("a", "b", "", "c")) == "a: b\n    remedy:   c"


def test_the_update_is_current(opt: Path, disk: Disk) -> None:
    assert runs(opt) == "cloister 1.1 part"
    assert (version_of(opt, CURRENT), version_of(opt, PREVIOUS)) == (UPDATE.id(), FIRST.id())
    again = disk.start("update.bundle", "--prefix", opt)
    assert again.stdout.endswith(f"{UPDATE.id()} was the current version already\n")


def test_all_users_may_read_it_and_none_may_write(opt: Path) -> None:
    modes = {path: path.stat().st_mode & 0o777 for path in opt.rglob("*") if not path.is_symlink()}
    assert {path.name for path, mode in modes.items() if mode & 0o44 != 0o44} == {"lock"}
    assert not {path for path, mode in modes.items() if mode & 0o22}
    assert (opt / "trusted.key").stat().st_mode & 0o777 == 0o644


def test_equal_files_are_there_once(opt: Path) -> None:
    one, other = (opt / "versions" / small.id() / "models/tiny.gguf" for small in (FIRST, UPDATE))
    assert one.samefile(other)
    assert not list(opt.rglob("temporary"))


def test_a_rollback_and_back(opt: Path, disk: Disk) -> None:
    back = disk.start("--rollback", "--prefix", opt)
    assert (back.returncode, back.stderr) == (0, "")
    assert runs(opt) == "cloister 1.0 part"
    assert roll_back(opt) == (UPDATE.id(), FIRST.id())
    assert runs(opt) == "cloister 1.1 part"


def test_another_key_than_the_first_time(opt: Path, disk: Disk, tmp_path: Path) -> None:
    assert (opt / "trusted.key").read_text() == disk.public_key + "\n"
    audit.generate_key(tmp_path / "other.key", "test.example/bundles")
    told = refuse(disk, opt, "other", key=audit.public_key_of(tmp_path / "other.key"))
    assert "which this installation trusts" in told
    assert f"write the new one into {opt / 'trusted.key'}" in told


def test_an_install_that_is_interrupted_by_a_person(opt: Path, disk: Disk) -> None:
    """Ctrl-C is one message, and nothing is left."""
    before = state(opt)
    launcher = LAUNCHER.replace("os.killpg(0, signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGINT)")
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # whoever started the tests
    install = [sys.executable, "-I", "-c", hears + launcher, "20", disk.folder / "install.py", disk.bundle("other")]
    done = subprocess.run([*install, "--prefix", opt], capture_output=True, text=True)
    assert f"Interrupted. The current version is {UPDATE.id()}.\n" in done.stdout
    assert (done.returncode, done.stderr) == (130, "")
    assert state(opt) == before


def test_a_link_that_cannot_be_replaced_is_not_replaced_later(opt: Path) -> None:
    (opt / "current.new").mkdir()
    with pytest.raises(RefusedError):
        roll_back(opt)
    (opt / "current.new").rmdir()
    with locked(opt):
        assert version_of(opt, CURRENT) == UPDATE.id()
    assert not (opt / "flip").exists()


def test_two_at_a_time(opt: Path, disk: Disk) -> None:
    with (opt / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another install or rollback is at work" in refuse(disk, opt, "other", key=None)
        with pytest.raises(HeldError):
            roll_back(opt)


def test_killed_at_each_call_of_a_rollback(opt: Path, disk: Disk) -> None:
    kills = Kills(disk, opt, Random(1))
    kills.to_the_end("rollback")
    for last in range(1, kills.calls["rollback"] + 1):
        subprocess.run(kills.command("rollback", last), capture_output=True, start_new_session=True)
        kills.check(f"rollback, killed before call {last}")
    assert version_of(opt, CURRENT) in (FIRST.id(), UPDATE.id())
    with locked(opt):
        assert {version_of(opt, CURRENT), version_of(opt, PREVIOUS)} == {FIRST.id(), UPDATE.id()}
    assert not (opt / "flip").exists()
    assert kills.wrong == []


def test_a_version_that_was_deleted_before_it_became_the_current_one(opt: Path) -> None:
    before = {link: version_of(opt, link) for link in (CURRENT, PREVIOUS)}
    (opt / "flip").write_text(f"9.9-000000000000\n{before[CURRENT]}\n")
    with locked(opt):
        assert {link: version_of(opt, link) for link in (CURRENT, PREVIOUS)} == before
    assert not (opt / "flip").exists()
    assert runs(opt).startswith("cloister 1.")


def test_killed_while_files_are_copied(opt: Path, disk: Disk) -> None:
    """What is left is removed by whoever comes next."""
    kills = Kills(disk, opt, Random(1))
    for last in (2, 7, 20):
        killed = subprocess.run(kills.command("other", last), capture_output=True, start_new_session=True)
        assert killed.returncode == -SIGKILL
        kills.check(f"install, killed before call {last}")
    assert (opt / "versions" / OTHER.id()).exists()
    kills.to_the_end("rollback")
    assert not (opt / "versions" / OTHER.id()).exists()
    assert kills.wrong == []


def test_a_damaged_version(opt: Path, disk: Disk) -> None:
    """The last test of this installation: what is damaged is neither taken for an update nor rolled back to."""
    current, before = version_of(opt, CURRENT), version_of(opt, PREVIOUS)
    (opt / "versions" / str(current) / "models/tiny.gguf").write_bytes(b"damaged")
    (opt / "versions" / str(before) / "manifest.json").write_text("{")
    (opt / "versions" / "note.txt").write_text("somebody's")
    disk.write("next", Small("1.2", base=UPDATE))
    assert "no installed version has models/tiny.gguf" in refuse(disk, opt, "next", key=None)
    install(disk.bundle("other"), opt, None, TODAY, HERE, lambda step: None)
    assert complete_versions(opt) == sorted([str(current), str(before), OTHER.id()])
    assert (opt / "versions" / OTHER.id() / "models/tiny.gguf").stat().st_size > 1000
    assert runs(opt) == "cloister 2.0 another part"
    shutil.rmtree(opt / "versions" / str(current) / "venv")
    with pytest.raises(RefusedError, match="venv/bin/cloister: does not start"):
        roll_back(opt)
    assert runs(opt) == "cloister 2.0 another part"
    folder = opt / "versions" / OTHER.id()
    shutil.rmtree(folder / "venv")
    assert f"if nothing runs from it, move {folder} away, and install it again" in refuse(disk, opt, "other", key=None)
    folder.rename(opt.parent / "away")
    again = disk.start("other.bundle", "--prefix", opt)
    assert again.stdout.endswith(f"Installed {OTHER.id()} again\n")
    assert runs(opt) == "cloister 2.0 another part"


def test_a_machine_of_another_kind(refused: Refused) -> None:
    assert "wrong platform: linux aarch64\n    expected: linux x86_64" in refused(
        machine=HERE._replace(machine="aarch64")
    )
    assert "wrong C library: glibc 2.12\n    expected: glibc 2.17" in refused(machine=HERE._replace(glibc="2.12"))
    assert "wrong C library: no glibc" in refused(machine=HERE._replace(glibc=""))
    assert "wrong Python: Python 3.10\n    expected: Python 3." in refused(machine=HERE._replace(python="3.10"))
    assert "wrong Python: 32-bit Python" in refused(machine=HERE._replace(flavour="32-bit Python"))


def test_versions_of_the_c_library_are_numbers() -> None:
    told = {"platform": {"system": "linux", "machine": "x86_64", "glibc": "2.9"}, "pythons": [HERE.python]}
    check_machine(told, HERE._replace(glibc="2.36"))
    check_machine({**told, "platform": {**told["platform"], "glibc": None}}, HERE._replace(glibc=""))  # type: ignore[dict-item]


def test_a_key_that_is_not_there_or_not_trusted(refused: Refused, tmp_path: Path) -> None:
    assert "no key: " in refused(key=None)
    assert "not a public key" in refused(key="a+b+c")
    told = refused(key=str(tmp_path / "none"))
    assert f"--key: {tmp_path}/none: No such file or directory\n    expected: the public key" in told


def test_a_bundle_that_is_not_there(refused: Refused) -> None:
    assert "missing.bundle: cannot be read: No such file or directory" in refused("missing")


def test_an_update_of_a_version_that_is_not_installed(refused: Refused) -> None:
    assert "an update of another version: no installed version has models/tiny.gguf" in refused("update")


def test_a_version_that_does_not_start(disk: Disk, refused: Refused) -> None:
    """Its wheels were installed, and are removed again."""
    disk.write("broken", Small("3.0", command="raise SystemExit('no processor for this')\n"))
    assert "does not start: no processor for this" in refused("broken")


def test_packages_that_cannot_be_installed(disk: Disk, refused: Refused) -> None:
    small = Small("4.0")
    files = [each for each in small.files() if not str(each["path"]).startswith("wheels/any/cloister_part")]
    disk.write("lacking", Small("4.0", changed={"files": files}))
    assert "the packages cannot be installed: ERROR: No matching distribution found for cloister_part==1" in refused(
        "lacking"
    )


def test_a_folder_that_is_something_else(root: Path, refused: Refused) -> None:
    root.mkdir()
    (root / "mine.txt").write_text("x")
    assert f"{root} is not empty" in refused()
    (root / "mine.txt").unlink()
    root.chmod(0o777)
    assert f"others may write to {root}" in refused()
    assert root.is_dir()


def test_a_first_install_that_fails_at_its_end_can_be_done_again(root: Path, disk: Disk) -> None:
    """The version is complete, and cannot be made current: the folder is still an installation, and knows its key."""

    def be_in_the_way(step: str) -> None:
        if step == "starting the new version once":
            (root / "flip.new").mkdir()

    with pytest.raises(RefusedError, match=r"flip\.new: Is a directory"):
        install(disk.bundle("first"), root, disk.public_key, TODAY, HERE, be_in_the_way)
    (root / "flip.new").rmdir()
    done = install(disk.bundle("first"), root, None, TODAY, HERE, lambda step: None)
    assert (done.new, done.before, runs(root)) == (False, None, "cloister 1.0 part")


class Broken(Small):
    """A bundle whose maker signed a wheel that is none."""

    def contents(self) -> dict[str, tuple[str, bytes]]:
        """The usual files, with other bytes of one wheel."""
        path = "wheels/any/cloister_part-1-py3-none-any.whl"
        return {**super().contents(), path: ("wheel", b"no archive")}


def test_a_wheel_that_is_none(disk: Disk, refused: Refused) -> None:
    disk.write("no-wheel", Broken())
    assert "cloister_part-1-py3-none-any.whl is no wheel, or was changed since it was checked" in refused("no-wheel")


def test_files_that_are_linked_take_no_room(disk: Disk) -> None:
    bundle = read_bundle(disk.bundle("first"), disk.public_key, TODAY)
    model = next(each for each in bundle.files if each.role == "model")
    linked = {model.path: disk.folder / "some version" / model.path}
    assert room_needed(bundle, [], {}) - room_needed(bundle, [], linked) == model.size


def test_nothing_to_roll_back(root: Path) -> None:
    with pytest.raises(RefusedError, match="no version is installed there"):
        roll_back(root)
