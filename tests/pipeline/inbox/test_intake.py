"""A file is taken in as it was found, or left for a later run."""

import fcntl
import hashlib
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from pipeline import Input, scan
from pipeline.atrest.files import CLEAR
from pipeline.errors import DocumentError, Failure
from pipeline.inbox.discover import Candidate
from pipeline.inbox.intake import COPY, StillChangingError, staging_of, take
from pipeline.paths.beneath import Writers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An input folder with one file, in/a.txt."""
    (tmp_path / "input" / "in").mkdir(parents=True)
    (tmp_path / "input" / "in" / "a.txt").write_bytes(b"some text\n")
    return tmp_path / "input"


def _found(folder: Path) -> Candidate:
    (candidate,) = scan(Input(folder, ("*",), 0.0, "archive")).ready
    return candidate


def test_the_copy_has_the_files_bytes_and_hash(folder: Path, tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    (folder / "in" / "a.txt").write_bytes(content)
    arrival = take(_found(folder), Writers(folder), tmp_path, CLEAR)
    assert arrival.sha256 == hashlib.sha256(content).hexdigest()
    assert arrival.staged(tmp_path) == staging_of(tmp_path, arrival.staging or "") / COPY
    assert (
        take(_found(folder), Writers(folder), tmp_path, CLEAR).staging != arrival.staging
    )  # whatever is taken, and how often
    assert arrival.staged(tmp_path).read_bytes() == content
    assert (arrival.path, arrival.raw, arrival.size) == ("in/a.txt", "in/a.txt", 3_000_000)
    assert arrival.name == "a.txt"


@pytest.mark.parametrize(
    "instead", ["nothing", "no folder", "a file for its folder", "a link", "a loop", "a linked folder", "a socket"]
)
def test_a_file_gone_or_replaced_is_left_for_a_later_run(
    folder: Path, tmp_path: Path, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate, path = _found(folder), folder / "in" / "a.txt"
    path.rename(tmp_path / "away")
    if instead in ("no folder", "a file for its folder", "a loop", "a linked folder"):
        path.parent.rmdir()
    if instead == "a file for its folder":
        path.parent.touch()
    elif instead == "a link":
        path.symlink_to(tmp_path / "away")
    elif instead == "a loop":
        path.parent.symlink_to("in")
    elif instead == "a linked folder":  # which holds the very file that was found
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "away").rename(tmp_path / "elsewhere" / "a.txt")
        path.parent.symlink_to(tmp_path / "elsewhere")
    elif instead == "a socket":
        monkeypatch.chdir(path.parent)  # a socket's path is short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("a.txt")
    with pytest.raises(StillChangingError, match="gone, or something else is in its place"):
        take(candidate, Writers(folder), tmp_path, CLEAR)


def test_a_file_replaced_by_a_pipe_is_left_without_waiting_for_a_writer(folder: Path, tmp_path: Path) -> None:
    candidate, path = _found(folder), folder / "in" / "a.txt"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StillChangingError, match="no longer a regular file"):
        take(candidate, Writers(folder), tmp_path, CLEAR)


def test_a_file_written_to_since_it_was_found_is_left(folder: Path, tmp_path: Path) -> None:
    candidate = _found(folder)
    with (folder / "in" / "a.txt").open("ab") as file:
        file.write(b"more\n")
    with pytest.raises(StillChangingError, match="changed"):
        take(candidate, Writers(folder), tmp_path, CLEAR)
    assert (
        take(_found(folder), Writers(folder), tmp_path, CLEAR).sha256
        == hashlib.sha256(b"some text\nmore\n").hexdigest()
    )


def test_a_file_written_to_while_it_is_read_has_failed(folder: Path, tmp_path: Path) -> None:
    path = folder / "in" / "a.txt"
    path.write_bytes(b"x" * 5_000_000)
    candidate, chunks = _found(folder), 0

    def write_meanwhile(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal chunks
        if event == "open" and not chunks and str(arguments[0]).endswith(f"/{COPY}"):  # a hook stays for ever
            chunks += 1
            os.truncate(path, 4_999_999)

    sys.addaudithook(write_meanwhile)
    with pytest.raises(DocumentError, match="written to while it was read") as raised:
        take(candidate, Writers(folder), tmp_path, CLEAR)
    assert raised.value.failure is Failure.CHANGED_WHILE_READING
    assert chunks == 1
    assert not any((tmp_path / ".staging").iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="every file can be read")
def test_a_file_that_may_not_be_read_is_unreadable(folder: Path, tmp_path: Path) -> None:
    candidate = _found(folder)
    (folder / "in" / "a.txt").chmod(0)
    with pytest.raises(DocumentError, match="Permission denied"):
        take(candidate, Writers(folder), tmp_path, CLEAR)


def test_a_file_that_another_program_has_for_itself_is_left(folder: Path, tmp_path: Path) -> None:
    candidate = _found(folder)
    with (folder / "in" / "a.txt").open("r+b") as held:
        fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGCHLD)  # what tells the holder that somebody wants to open it
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        with pytest.raises(StillChangingError, match="it does not open yet: Resource temporarily unavailable"):
            take(candidate, Writers(folder), tmp_path, CLEAR)
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    assert take(candidate, Writers(folder), tmp_path, CLEAR).size == 10


@pytest.mark.parametrize(
    "name", [b"\xff\xfe.txt", b"a\nb.txt", b"\x1b[2J\x07.txt", b"n" * 255, b"\\", "\u202etxt.exe".encode()]
)
def test_names_of_any_bytes(folder: Path, tmp_path: Path, name: bytes) -> None:
    (folder / "in" / "a.txt").rename(folder / os.fsdecode(name))
    candidate = _found(folder)
    arrival = take(candidate, Writers(folder), tmp_path, CLEAR)
    assert os.fsencode(arrival.raw) == name
    assert (os.fsencode(arrival.name), arrival.staged(tmp_path).read_bytes()) == (name, b"some text\n")
    assert arrival.path.isprintable()
