"""Durable order: the one place where fsync and rename are called, and where their order is decided.

After a power cut a file system may have kept any subset of what was not synced. So, for each verb, the calls in the
order that `strace -e trace=openat,write,fsync,rename,unlink,ftruncate,mkdir` shows, and what each call is for:

    write_file_atomically   openat(tmp, O_CREAT|O_TRUNC)  write  fsync(tmp)    the new bytes are on the disk
                            rename(tmp, path)                                  readers see old or new, never a mixture
                            fsync(folder)                                      the new name is on the disk
    create_durably          openat(path, O_CREAT|O_EXCL)  write  fsync(path)  fsync(folder)
    append_durably          openat(path, O_APPEND)  write  fsync(path)         and fsync(folder) if it was created
    cut_durably             openat(path)  ftruncate  fsync(path)
    rename_durably          rename  fsync(folder of dst)  fsync(folder of src, if another)
    remove_durably          unlink  fsync(folder)
    make_folder_durably     mkdir  fsync(parent)                               for each folder that was not there
    sync_filesystem         syncfs                                             many files and names at once

A failed fsync is never repeated: the kernel may have dropped the pages and then report success. The caller gives up,
and the next start sees what is really on the disk. All functions raise OSError and nothing else.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

StrPath = str | os.PathLike[str]

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
TEMPORARY = ".tmp"
_libc = ctypes.CDLL(None, use_errno=True)


def write_file_atomically(path: StrPath, data: bytes, mode: int = 0o644, *, exact: bool = False) -> None:
    """Put `data` at `path`, whole or not at all. The temporary file is `path` + ".tmp": one writer per path. `exact`:
    the file gets this mode whatever the umask is."""
    path = Path(path)
    temporary = path.with_name(path.name + TEMPORARY)
    with _opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode) as fd:
        _write_all(fd, data)
        if exact:
            os.fchmod(fd, mode)
        os.fsync(fd)
    temporary.rename(path)
    sync_folder(path.parent)


def create_durably(path: StrPath, data: bytes, mode: int = 0o644) -> None:
    """A new file; FileExistsError if there is one. Not atomic: for files that nothing refers to until later."""
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode) as fd:
        _write_all(fd, data)
        os.fsync(fd)
    sync_folder(Path(path).parent)


def append_durably(path: StrPath, data: bytes, at: int) -> None:
    """Append `data` to a file that must be `at` bytes long; created if `at` is 0. OSError if it is another length."""
    created = os.O_CREAT | os.O_EXCL if at == 0 else 0
    with _opened(path, os.O_WRONLY | os.O_APPEND | created) as fd:
        if (size := os.fstat(fd).st_size) != at:
            raise OSError(f"{path} is {size} bytes long, expected {at}: someone else wrote to it")
        _write_all(fd, data)
        os.fsync(fd)
    if created:
        sync_folder(Path(path).parent)


def cut_durably(path: StrPath, size: int) -> None:
    """Shorten a file to its first `size` bytes."""
    with _opened(path, os.O_WRONLY) as fd:
        os.ftruncate(fd, size)
        os.fsync(fd)


def rename_durably(source: StrPath, target: StrPath) -> None:
    """Rename within one file system, replacing `target` if it is there. The target is durable before the source is
    gone."""
    source, target = Path(source), Path(target)
    source.rename(target)
    sync_folder(target.parent)
    if source.parent != target.parent:
        sync_folder(source.parent)


def remove_durably(path: StrPath) -> None:
    """Remove a file; one that is not there is fine, for a removal may be repeated after a crash."""
    with contextlib.suppress(FileNotFoundError):
        Path(path).unlink()
        sync_folder(Path(path).parent)


def make_folder_durably(path: StrPath) -> None:
    """Make a folder and those above it that are missing."""
    path = Path(path)
    if path.is_dir():
        return
    make_folder_durably(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir()
    sync_folder(path.parent)


def sync_folder(path: StrPath) -> None:
    """Sync the names in a folder: what was created, renamed or removed in it."""
    with _opened(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.fsync(fd)


def sync_filesystem(folder: StrPath) -> None:
    """Sync everything written to the file system of `folder`, which may be reached by a link: one call for the
    hundreds of files of a part."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if _libc.syncfs(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(fd)


@contextlib.contextmanager
def _opened(path: StrPath, flags: int, mode: int = 0o644) -> Iterator[int]:
    fd = os.open(path, flags | _NO_LINK, mode)
    try:
        yield fd
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
