"""What a child is handed in the place of a document's file."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.parse.child.handed import SMALL, handed


def test_a_small_document_is_a_sealed_copy_that_nothing_can_change(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"its bytes")
    path.chmod(0o600)
    with path.open("r+b", buffering=0) as file:
        file.seek(3)
        with handed(file.fileno()) as given:
            assert os.fstat(given).st_ino != os.fstat(file.fileno()).st_ino
            assert os.pread(given, 100, 0) == b"its bytes"
            for change in (lambda: os.pwrite(given, b"other", 0), lambda: os.ftruncate(given, 0)):
                with pytest.raises(PermissionError):
                    change()
            with pytest.raises(PermissionError):
                fcntl.fcntl(given, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)
            os.fchmod(given, 0o4755)
        assert file.tell() == 3
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"its bytes", 0o600)


def test_a_large_document_is_opened_anew_for_reading_alone(tmp_path: Path) -> None:
    path = tmp_path / "document"
    with path.open("wb+", buffering=0) as file:
        file.truncate(SMALL + 1)
        file.seek(3)
        with handed(file.fileno()) as given:
            assert os.lseek(given, 0, os.SEEK_END) == SMALL + 1
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.pwrite(given, b"other", 0)
        assert file.tell() == 3


NO_ROOM = """
import os, resource, signal, tempfile
from pipeline.parse.child.handed import handed
with tempfile.TemporaryFile() as file:
    file.write(b"a document" * 1000)
    file.flush()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # which a copy in memory is under, too
    with handed(file.fileno()) as given:
        print(os.pread(given, 10, 0).decode())
"""


def test_where_no_copy_can_be_made_it_is_opened_anew() -> None:
    done = subprocess.run([sys.executable, "-c", NO_ROOM], capture_output=True, text=True, check=True)
    assert done.stdout == "a document\n"


def test_what_cannot_be_read_is_unreadable(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(DocumentError, match="not a regular file"), handed(folder):
        pass
    os.close(folder)
    with (tmp_path / "new").open("wb") as file:
        file.truncate(10)
        with pytest.raises(DocumentError) as raised, handed(file.fileno()):
            pass
    assert raised.value.failure is Failure.UNREADABLE
