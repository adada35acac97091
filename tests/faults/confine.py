"""Run a program that can write nowhere but below the folders named, as can none of the processes it starts (Landlock).

    python -m tests.faults.confine FOLDER... -- PROGRAM ARGUMENT...

Exit code UNCONFINED, without starting it, where the kernel cannot hold it to that. Held are: opening for writing,
truncating, making, removing, linking and renaming. Not held are owners, modes, times and extended attributes of files.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.parse.sandbox import landlock

UNCONFINED = 77
_PR_SET_NO_NEW_PRIVS = 38  # linux/prctl.h
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14  # linux/landlock.h
_REMOVE_AND_MAKE = sum(1 << right for right in range(4, 13))
_REFER = 1 << 13  # renaming from one folder into another
_WRITING = _WRITE_FILE | _REMOVE_AND_MAKE | _REFER | _TRUNCATE
_KNOWS_TRUNCATE = 3  # ABI


def confine(writable: Sequence[Path]) -> bool:
    """From now on this thread can write only below `writable` and to /dev/null; False if that is not in force."""
    if landlock.version() < _KNOWS_TRUNCATE or ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return landlock.hold(_WRITING, dict.fromkeys([*map(str, writable), os.devnull], _WRITING))


def run_confined(command: Sequence[str], writable: Sequence[Path]) -> int | None:
    """Its exit code; None if it was not started, because the kernel cannot hold it to that."""
    around = [sys.executable, "-m", "tests.faults.confine", *map(str, writable), "--"]
    ended = subprocess.run([*around, *command], check=False).returncode
    return None if ended == UNCONFINED else ended


def can_write(folder: Path) -> bool:
    """Whether this process can make a file there, found out by trying."""
    file = folder / "can-it-be-written"
    try:
        file.touch()
    except PermissionError:
        return False
    file.unlink()
    return True


def main() -> None:
    """Other threads of this process, as numpy starts them, are not held; they end when it becomes the program."""
    end = sys.argv.index("--")
    if not confine([Path(folder) for folder in sys.argv[1:end]]):
        sys.exit(UNCONFINED)
    os.execv(sys.argv[end + 1], sys.argv[end + 1 :])


if __name__ == "__main__":
    main()
