"""A disk as it is carried to a machine: small bundles, the two programs beside them, and the key that signs them."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import audit
from jobs.bundle.publish import PROGRAMS, program
from tests.bundle.small import Small, write_bundle

FIRST = Small("1.0")
UPDATE = Small("1.1", base=FIRST)
OTHER = Small("2.0", part="another part")
BUNDLES = {"first": FIRST, "update": UPDATE, "other": OTHER}


@dataclass(frozen=True)
class Disk:
    """A folder with `first.bundle`, `update.bundle` (of the first), `other.bundle`, verify.py and install.py."""

    folder: Path
    key: Path  # the private one, which a real disk has not

    @property
    def public_key(self) -> str:
        """The key that signs the bundles."""
        return audit.public_key_of(self.key)

    def bundle(self, name: str) -> Path:
        """The archive of one of BUNDLES."""
        return self.folder / f"{name}.bundle"

    def write(self, name: str, small: Small) -> Path:
        """Write another bundle, signed by the same key."""
        return write_bundle(self.bundle(name), small, self.key)

    def start(self, *words: str | Path, program: str = "install.py") -> subprocess.CompletedProcess[str]:
        """Run one of the programs to its end."""
        command = [sys.executable, "-I", str(self.folder / program), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder)


def make_disk(folder: Path) -> Disk:
    """Write the bundles and the programs into this folder."""
    folder.mkdir(mode=0o700, parents=True)
    disk = Disk(folder, folder / "private.key")
    audit.generate_key(disk.key, "test.example/bundles")
    for name, small in BUNDLES.items():
        disk.write(name, small)
    for name in PROGRAMS:
        (folder / name).write_text(program(name), encoding="utf-8")
    return disk


def runs(root: Path) -> str:
    """What the command of an installation says, which has to end well."""
    done = subprocess.run([root / "bin/cloister"], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
