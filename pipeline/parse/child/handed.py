"""The descriptor of a document as a child gets it: what the child does to it can reach no file of ours.

A small document is copied into memory and sealed (memfd_create, fcntl F_ADD_SEALS), so that the child has neither the
file's bytes nor its mode, owner, times and attributes in its hands. A larger one is opened anew, for reading alone and
with a place of its own; its mode and attributes are kept by the filter of system calls.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator

from pipeline.errors import DocumentError, Failure

SMALL = 32 << 20
"""Bytes, up to which a copy in memory costs less than the parsing by far."""
_OURS = frozenset({errno.ENOMEM, errno.ENOSPC, errno.EFBIG, errno.EACCES, errno.EPERM})
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


@contextlib.contextmanager
def handed(fd: int) -> Iterator[int]:
    """A descriptor with the bytes of the regular file open at `fd`. DocumentError: UNREADABLE."""
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode):
        raise DocumentError(Failure.UNREADABLE, "not a regular file")
    try:
        given = _sealed_or_anew(fd, state.st_size) if state.st_size <= SMALL else _opened_anew(fd)
    except OSError as error:
        raise DocumentError(Failure.UNREADABLE, f"reading failed: {error.strerror}") from error
    try:
        yield given
    finally:
        os.close(given)


def _sealed_or_anew(fd: int, size: int) -> int:
    """A sealed copy, else the document opened anew, which is not to blame where there is no memory for a copy, or no
    leave to make one (vm.memfd_noexec)."""
    try:
        return _sealed(fd, size)
    except OSError as error:
        if error.errno not in _OURS:
            raise
        return _opened_anew(fd)


def _sealed(fd: int, size: int) -> int:
    copy = os.memfd_create("document", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        copied = 0
        while copied < size:
            if not (done := os.sendfile(copy, fd, copied, size - copied)):
                raise DocumentError(Failure.UNREADABLE, f"it shrank to {copied} of {size} bytes")
            copied += done
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(copy)
        raise
    return copy


def _opened_anew(fd: int) -> int:
    return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
