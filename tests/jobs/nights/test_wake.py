"""Word of a change comes at once, and where none can come that is told."""

import os
import select
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import audit
from jobs.nights.wake import Wake
from jobs.stop import Stop


@pytest.fixture
def wake() -> Iterator[Wake]:
    with Wake() as made:
        yield made


def until(wake: Wake, folder: Path, tells: bool = True) -> None:
    """Waits until the folder is watched, or no longer."""
    end = time.monotonic() + 100
    while wake.tells(folder) != tells:
        assert time.monotonic() < end
        time.sleep(0.01)


def heard(wake: Wake, seconds: float = 10) -> set[Path]:
    """What is told within that time at most."""
    select.select([wake], [], [], seconds)
    return wake.stirred()


def test_a_new_file_is_told_of_also_in_a_new_folder(wake: Wake, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    wake.follow([one, two])
    until(wake, one)
    until(wake, two)
    assert heard(wake) == {one, two}  # whatever came before the watches were set
    assert heard(wake, 0.3) == set()
    (one / "a.txt").touch()
    assert heard(wake) == {one}
    (two / "in").mkdir()
    assert heard(wake) == {two}
    (two / "in" / "b.txt").write_text("b")
    assert heard(wake) == {two}


def test_a_name_that_is_no_utf8_is_told_of_and_so_is_what_comes_after(wake: Wake, tmp_path: Path) -> None:
    wake.follow([tmp_path])
    until(wake, tmp_path)
    heard(wake)
    (tmp_path / os.fsdecode(b"\xff.txt")).touch()
    assert heard(wake) == {tmp_path}
    until(wake, tmp_path)
    heard(wake, 1)
    (tmp_path / "b.txt").touch()
    assert heard(wake) == {tmp_path}
    assert not list(wake.silent())


def test_another_folder_in_the_place_of_one_is_watched_anew(wake: Wake, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    wake.follow([folder])
    assert not wake.tells(folder)  # there is none
    folder.mkdir()
    wake.follow([folder])
    until(wake, folder)
    folder.rename(tmp_path / "old")
    folder.mkdir()
    wake.follow([folder])
    until(wake, folder)
    heard(wake, 0.3)
    heard(wake, 0.3)
    (folder / "a.txt").touch()
    assert heard(wake) == {folder}
    wake.follow([])
    assert not wake.tells(folder)


def test_a_folder_of_another_machine_is_not_watched(
    wake: Wake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("nfs4", "cifs", "9p", "fuse.sshfs", "virtiofs"):
        monkeypatch.setattr(audit, "file_system_of", lambda _, kind=kind: kind)
        folder = tmp_path / kind
        folder.mkdir()
        wake.follow([folder])
        end = time.monotonic() + 100
        while not (told := list(wake.silent())):
            assert time.monotonic() < end
        assert told == [(folder, f"{kind} does not tell what other machines write")]
        assert not wake.tells(folder)
        assert not list(wake.silent())  # told once


@pytest.mark.parametrize("name", [b"\xff", b"none"])
def test_a_folder_that_cannot_be_watched_is_told_once(wake: Wake, tmp_path: Path, name: bytes) -> None:
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    before = folder.stat()
    if name == b"none":
        folder.chmod(0)
    if name == b"none" and os.geteuid() == 0:
        pytest.skip("every folder can be watched")
    wake.follow([folder])
    assert heard(wake) == {folder}
    assert [where for where, _ in wake.silent()] == [folder]
    folder.chmod(before.st_mode)
    assert not wake.tells(folder)


def test_it_ends_at_once_and_leaves_no_thread(tmp_path: Path) -> None:
    with Wake() as wake:
        wake.follow([tmp_path])
        until(wake, tmp_path)
        begun = time.monotonic()
    assert time.monotonic() - begun < 20
    assert not [thread for thread in threading.enumerate() if thread.name == "wake"]


def test_a_wait_of_the_service_ends_by_word(wake: Wake, tmp_path: Path) -> None:
    wake.follow([tmp_path])
    until(wake, tmp_path)
    heard(wake)
    with Stop() as stop:
        begun = time.monotonic()
        threading.Timer(0.1, (tmp_path / "a.txt").touch).start()
        assert not stop.wait(300, wake.fileno())
        assert time.monotonic() - begun < 100
    assert wake.stirred() == {tmp_path}
