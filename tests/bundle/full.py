"""Installs on a disk that is full: a small one (tmpfs, in a mount namespace of its own), filled up while it goes on.

    unshare --mount python -m tests.bundle.full

A line for each thing that does not hold; exit 1 if there is one. The disk is too small from the beginning, or is filled
before the files are copied, or before the packages are installed. One message each, and nothing is changed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from jobs.bundle.install import install
from jobs.bundle.versions import CURRENT, RefusedError, this_machine, version_of
from tests.bundle.disk import FIRST, Disk, make_disk, runs

ROOM = "96m"


def attempt(disk: Disk, root: Path, full_at: str) -> str:
    """Install `other` on the disk of `root`, which is filled up when this step begins; what it is refused for."""
    filler = root.parent / "filler"

    def step(text: str) -> None:
        if text.startswith(full_at):
            fill(filler)

    try:
        install(disk.bundle("other"), root, disk.public_key, "2026-11-27", this_machine(), step)
    except RefusedError as error:
        return str(error)
    finally:
        filler.unlink(missing_ok=True)
    return "it was installed"


def fill(path: Path) -> None:
    """Write until nothing more can be written."""
    with path.open("wb", buffering=0) as file:
        try:
            for size in (2**20, 2**12, 1):
                while file.write(bytes(size)) == size:
                    pass
        except OSError:
            return


def main() -> int:
    """The program; 1 if something does not hold."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        disk, small = make_disk(Path(folder) / "disk"), Path(folder) / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "none", small], check=True)
        steps = {"checking": "too little room", "copying": "No space left", "installing": "No space left"}
        for root, before in ((small / "new", None), (small / "opt", FIRST.id())):
            if before:
                install(disk.bundle("first"), root, disk.public_key, "2026-11-27", this_machine(), lambda step: None)
            for full_at, expected in steps.items():
                told = attempt(disk, root, full_at)
                left = [path.name for path in (root / "versions").iterdir()] if before else root.exists()
                right = expected in told and version_of(root, CURRENT) == before and left in ([before], False)
                if not right or (before and not runs(root)):
                    wrong.append(f"{root.name}, full at {full_at}: {told}; there is {left}")
        subprocess.run(["umount", small], check=True)
    print("\n".join(wrong) or f"{2 * len(steps)} full disks, one message each, nothing changed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
