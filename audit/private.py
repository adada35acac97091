"""Files that nobody but their owner may read: private keys and passphrases."""

import os
import stat
import struct
from pathlib import Path

from audit.durable import StrPath
from audit.errors import KeyRefused

_MAX_BYTES = 4096
_ACL = "system.posix_acl_access"
_OWNER, _NAMED_USER, _MASK = 0x01, 0x02, 0x10


def read_private(path: StrPath, what: str) -> bytes:
    """At most 4096 bytes of a regular file; KeyRefused if others may read it, or it cannot be read. `what` names it in
    messages."""
    path = Path(path)
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise KeyRefused(f"{path}: no {what}: not a regular file")
            if _others_may_use(file.fileno(), status.st_mode):
                mode = f"mode {status.st_mode & 0o777:04o}"
                raise KeyRefused(f"{path}: others may read it ({mode}); chmod 600 {path}")
            data: bytes = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise KeyRefused(f"{path}: the {what} cannot be read: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise KeyRefused(f"{path}: no {what}: longer than {_MAX_BYTES} bytes")
    return data


def _others_may_use(fd: int, mode: int) -> bool:
    """Where a file has an access control list, the mode shows its mask in the place of the group: systemd gives a
    service its credentials by such a list."""
    try:
        acl = os.getxattr(fd, _ACL)
    except OSError:  # none, or a file system that has no lists
        return bool(mode & 0o077)
    return others_in(acl, os.geteuid())


def others_in(acl: bytes, user: int) -> bool:
    """Whether a list (acl(5); linux/posix_acl_xattr.h) gives anything to anyone but the owner and `user`."""
    entries = struct.iter_unpack("<HHI", acl[4:])
    others = (each for each in entries if each[0] not in (_OWNER, _MASK) and each[::2] != (_NAMED_USER, user))
    return any(rights for _, rights, _ in others)
