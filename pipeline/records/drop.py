"""A folder in state/ where commands leave files for whoever holds the log.

Others may write there, too, so nothing in it is believed: no link is followed, and a file is read no further than the
longest that a command leaves.
"""

import contextlib
import hashlib
import os
import pwd
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

import audit
from pipeline.paths.beneath import open_beneath
from pipeline.plan import Site

T = TypeVar("T")

LEFT: Final = ".json"
REFUSED: Final = ".refused"


@dataclass(frozen=True)
class LeftFile:
    """A file that lies there: who owns it (the name, and the number), and its bytes, or why they are none that a
    command leaves."""

    owner: str
    uid: int
    data: bytes
    wrong: str | None = None

    def whole(self) -> bytes:
        """The bytes. ValueError where they are none that a command leaves."""
        if self.wrong:
            raise ValueError(self.wrong)
        return self.data


@dataclass(frozen=True)
class RefusedFile:
    """Why a file says nothing that counts."""

    why: str


@dataclass(frozen=True)
class Drop(Generic[T]):
    """The folder `name` of a workspace's state/, for files of at most `most` bytes. `parse` reads what a file of a name
    says and raises ValueError for what does not count. `private`: made for the eyes of this user alone."""

    site: Site
    name: str
    most: int
    parse: Callable[[str, LeftFile], T]
    private: bool = False

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.site.state / self.name

    def leave(self, name: str, data: bytes) -> None:
        """Leave a file, which is on the disk when this returns. OSError, also where the folder is a link."""
        if not self.path.is_dir():
            self.path.mkdir(mode=0o700 if self.private else 0o777, parents=True, exist_ok=True)
            audit.sync_folder(self.path.parent)
        with self.opened():  # is it no link?
            pass
        audit.write_file_atomically(self.path / name, data, mode=0o600 if self.private else 0o644)

    def names(self, suffix: str = LEFT) -> list[str]:
        """The names of the files that end so, sorted; none if there is no such folder."""
        try:
            with self.opened() as folder, os.scandir(folder) as items:
                return sorted(item.name for item in items if Path(item.name).suffix == suffix)
        except OSError:
            return []

    def taken(self, names: Iterable[str]) -> Iterator[tuple[str, str, T | RefusedFile]]:
        """The name and owner of each file, and what it says or why it is refused; without files that have just gone."""
        for name in names:
            owner = ""
            try:
                left = self.read(name)
                owner = left.owner
                yield name, owner, self.parse(name, left)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                yield name, owner, RefusedFile(str(getattr(error, "strerror", None) or error))

    def read(self, name: str) -> LeftFile:
        """Read a file. OSError."""
        with os.fdopen(open_beneath(self.site.state, f"{self.name}/{name}", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            owner = _name_of(status.st_uid), status.st_uid
            if not stat.S_ISREG(status.st_mode):
                return LeftFile(*owner, b"", "not a regular file")
            data = file.read(self.most + 1)
            return LeftFile(*owner, data, f"longer than {self.most:,} bytes" if len(data) > self.most else None)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, as far as that can be done; may be repeated."""
        with contextlib.suppress(OSError), self.opened() as folder:
            for name in names:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=folder)

    def free_name(self, kept: str) -> str:
        """The name under which a refused file can be kept: this one, or another where it is taken. OSError."""
        with self.opened() as folder, contextlib.suppress(FileNotFoundError):
            os.stat(kept, dir_fd=folder, follow_symlinks=False)
            return f"{secrets.token_hex(16)}{REFUSED}"
        return kept

    def rename(self, name: str, new: str) -> None:
        """Rename a file. OSError."""
        with self.opened() as folder:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """The folder's descriptor. OSError, also for a link: what lies elsewhere is not read, removed or renamed."""
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield folder
        finally:
            os.close(folder)


def kept_name(name: str) -> str:
    """The name under which a refused file is kept first, which is as long as any can be."""
    return f"{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}{REFUSED}"


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
