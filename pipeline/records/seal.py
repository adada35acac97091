"""Files in state/ that only the holder of the log's key can have written: that in FOLDER/NAME is sealed by seals/NAME.

The seal is HMAC-SHA256 over the bytes of the file, in hexadecimal digits, with a secret that is derived from the log's
signing key. File and folder must belong to the user who reads them, and nobody else may write to either.
"""

import hashlib
import hmac
import os
import stat
from pathlib import Path

import audit

_CHUNK = 1 << 20


def make_folder(folder: Path) -> None:
    """A folder for sealed files, if it is not there; ValueError if others may write to it. OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_others(folder.lstat(), stat.S_IFDIR)


def write_seal(path: Path, secret: bytes) -> None:
    """Seal a file as it is now. OSError; ValueError if others may write to the file or its seal."""
    make_folder(_seal_of(path).parent)
    audit.write_file_atomically(_seal_of(path), _mac(path, secret).encode(), mode=0o600)


def check_seal(path: Path, secret: bytes) -> None:
    """ValueError unless the file is as it was sealed with this secret. OSError."""
    if not hmac.compare_digest(_seal_of(path).read_bytes()[:128], _mac(path, secret).encode()):
        raise ValueError(f"{path} is not as it was sealed")


def remove_sealed(path: Path) -> None:
    """Remove a file and its seal. OSError."""
    for file in (path, _seal_of(path)):
        file.unlink(missing_ok=True)


def _seal_of(path: Path) -> Path:
    return path.parent.parent / "seals" / path.name


def _mac(path: Path, secret: bytes) -> str:
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        _refuse_others(os.fstat(file.fileno()), stat.S_IFREG)
        while chunk := file.read(_CHUNK):
            mac.update(chunk)
    return mac.hexdigest()


def _refuse_others(status: os.stat_result, kind: int) -> None:
    if stat.S_IFMT(status.st_mode) != kind or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ValueError("others may write to it")
