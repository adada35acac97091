"""What lies in a workspace, as a backup takes it: each file and folder with what tells whether it was changed.

No link is followed, but for those by which a folder of the workspace itself, such as archive/, lies on another disk.
"""

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.atrest.store import store_of

KEYS = "keys"
STATE = "state"
WAITING = ("handover", "review")
"""The folders in state/ that are no cache: records and decisions wait in them for the log."""
_STAGING = ".staging"
_WRAPPED = f"{store_of(Path())}/"
_STANDING = frozenset(
    ("audit", "outbox", "archive", "failed", "private", "models", "jobs", KEYS, "site.yaml", "version.json")
)

Hidden = Collection[tuple[int, int]]
"""Files that are left out: (device, inode)."""


@dataclass(frozen=True, slots=True)
class Item:
    """A file or folder. `changed` is (ctime in ns, inode): no program can write to a file and leave it as it was."""

    path: str
    folder: bool
    size: int
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    changed: tuple[int, int]


@dataclass(frozen=True)
class Tree:
    """What was found, by its path from the workspace, and what is left out, with the reason."""

    items: dict[str, Item] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def standing(self) -> dict[str, Item]:
        """The files that change by commits alone: all but those that come in, wait for the log or are staged, and
        wrapped keys."""
        return {path: item for path, item in self.items.items() if not item.folder and _stands(path)}

    def stands_as(self, before: "Tree") -> bool:
        """Whether what commits change is as it was before. A wrapped key may have come or gone meanwhile: it comes
        before the commit that needs it, and goes after the one that says so. None may be another one."""
        mine, its = self._wrapped(), before._wrapped()
        same = all(mine[path] == its[path] for path in mine.keys() & its.keys())
        return same and self.standing() == before.standing()

    def _wrapped(self) -> dict[str, Item]:
        return {path: item for path, item in self.items.items() if not item.folder and path.startswith(_WRAPPED)}


def _stands(path: str) -> bool:
    parts = path.split("/")
    staged = len(parts) > 3 and parts[2] == _STAGING
    return parts[0] in _STANDING and not staged and not path.startswith(_WRAPPED)


def scan(root: Path, *, keys: bool, secrets: Collection[Path]) -> Tree:
    """Everything in the workspace but caches. `keys`: also keys/ and `secrets`, the files that hold a secret of the
    log. OSError."""
    tree = Tree()
    hidden = {(status.st_dev, status.st_ino) for file in secrets if (status := _status(file))}
    for name in sorted(each.name for each in root.iterdir()):
        if name == KEYS and not keys:
            continue
        if name == STATE:
            for each in WAITING:
                _take(tree, root, f"{STATE}/{each}", hidden if not keys else set())
        else:
            _take(tree, root, name, hidden if not keys else set())
    return tree


def _status(file: Path) -> os.stat_result | None:
    """Of a file that holds a secret: whatever other names it has, also by links, it is the same file."""
    try:
        return file.stat()
    except OSError:
        return None


def _take(tree: Tree, root: Path, name: str, hidden: Hidden) -> None:
    """Take in a file or folder of the workspace itself, which may be a link to a folder."""
    try:
        status = (root / name).stat() if (root / name).is_dir() else (root / name).lstat()
    except FileNotFoundError:
        return
    if _add(tree, name, status, hidden):
        folder = os.open(root / name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _walk(tree, name, folder, hidden)


def _walk(tree: Tree, prefix: str, folder: int, hidden: Hidden) -> None:
    """Take in what lies in an open folder, which is closed then."""
    try:
        for name, status in _entries(folder):
            path = f"{prefix}/{name}"
            if _add(tree, path, status, hidden):
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                try:
                    below = os.open(name, flags, dir_fd=folder)
                except (FileNotFoundError, NotADirectoryError):  # gone, or another thing by now
                    continue
                except OSError as error:
                    raise OSError(error.errno, error.strerror, path) from error
                _walk(tree, path, below, hidden)
    finally:
        os.close(folder)


def _entries(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    for name in sorted(os.listdir(folder)):
        try:
            yield name, os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue


def _add(tree: Tree, path: str, status: os.stat_result, hidden: Hidden) -> bool:
    """Take in one thing; whether it is a folder to be looked into."""
    if (status.st_dev, status.st_ino) in hidden:
        return False
    folder = stat.S_ISDIR(status.st_mode)
    if not folder and not stat.S_ISREG(status.st_mode):
        link = stat.S_ISLNK(status.st_mode)
        tree.left_out[path] = "a symbolic link, which is not followed" if link else "no file: a pipe, socket or device"
        return False
    tree.items[path] = Item(
        path, folder, 0 if folder else status.st_size, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid,
        status.st_mtime_ns, (status.st_ctime_ns, status.st_ino),
    )  # fmt: skip
    return folder
