"""Files that nobody but their owner may read: private keys and passphrases."""

import os
import pwd
import stat
import struct
from pathlib import Path
from shlex import quote

from audit.durable import StrPath
from audit.errors import KeyRefused

_MAX_BYTES = 4096
_ACL = "system.posix_acl_access"
_OWNER, _NAMED_USER, _MASK = 0x01, 0x02, 0x10


def read_private(path: StrPath, what: str) -> bytes:
    """Read at most 4096 bytes of a regular file; KeyRefused if others own it or may read it, or it cannot be read.
    `what` names it in messages."""
    path = Path(path)
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise KeyRefused(f"{path}: no {what}: not a regular file")
            if status.st_uid not in _trusted():
                raise KeyRefused(f"{path}: belongs to {_name_of(status.st_uid)}, who may change it", _remedy(path))
            if _others_may_use(file.fileno(), status.st_mode):
                mode = f"mode {status.st_mode & 0o777:04o}"
                raise KeyRefused(f"{path}: others may read it ({mode})", f"chmod 600 {quote(str(path))}")
            data: bytes = file.read(_MAX_BYTES + 1)
    except FileNotFoundError as error:
        remedy = "bring it back from where it is kept, with mode 600, or correct its path"
        raise KeyRefused(f"{path}: the {what} cannot be read: {error.strerror}", remedy) from error
    except OSError as error:
        raise KeyRefused(f"{path}: the {what} cannot be read: {error.strerror}", how_to_reach(path)) from error
    if len(data) > _MAX_BYTES:
        raise KeyRefused(f"{path}: no {what}: longer than {_MAX_BYTES} bytes")
    return data


def refuse_shared_folder(path: StrPath) -> None:
    """KeyRefused if others may put another file in the place of this one: they may write to its folder, or own it."""
    path = Path(path)
    for folder in {path.absolute().parent, path.resolve().parent}:
        try:
            status = folder.stat()
        except FileNotFoundError:  # no file can be there either, as whoever reads or makes it will find
            continue
        except OSError as error:
            told = f"{folder}: the folder of the signing key cannot be read: {error.strerror}"
            raise KeyRefused(told, how_to_reach(folder)) from error
        if status.st_uid not in _trusted():
            whose = _name_of(status.st_uid)
            raise KeyRefused(f"{folder}: the folder of the signing key belongs to {whose}", _remedy(folder))
        if status.st_mode & 0o022:
            told = f"{folder}: others may replace the signing key in it (mode {status.st_mode & 0o7777:04o})"
            raise KeyRefused(told, f"chmod go-w {quote(str(folder))}")


def _trusted() -> tuple[int, int]:
    """Who may own what is private: the present user, and root, who can do anything (systemd's credentials are his)."""
    return os.geteuid(), 0


def how_to_reach(path: StrPath) -> str | None:
    """What lets this user read and write a file, or a folder: the command that gives back a right which its owner took
    away, or who else may use it. None where no right is missing, as far as can be seen."""
    absolute = Path(path).absolute()
    for each in (*reversed(absolute.parents), absolute):
        try:
            status = each.stat()
        except OSError:
            return None
        rights = os.R_OK | os.W_OK if each == absolute else 0
        if stat.S_ISDIR(status.st_mode):
            rights |= os.X_OK
        if os.access(each, rights, effective_ids=True):
            continue
        if status.st_uid == os.geteuid():
            return f"chmod u+rw{'x' if stat.S_ISDIR(status.st_mode) else ''} {quote(str(each))}"
        return f"run this as {_name_of(status.st_uid)}, who holds it"
    return None


def _remedy(path: Path) -> str:
    me = _name_of(os.geteuid())
    return f"run this as its owner, or chown {me} {quote(str(path))} if that is right"


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


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
