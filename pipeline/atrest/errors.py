"""What can be wrong with what is encrypted. All are OSErrors: who says that a file cannot be read says it of these."""

import errno
from pathlib import Path


class EncryptedError(OSError):
    """An encrypted file that cannot be read."""

    @property
    def sentence(self) -> str:
        """Which file, what was found, and what to do about it."""
        return f"{self.filename}: {self.strerror}"


class NoKeyError(EncryptedError):
    """The key that opens a file is missing, another one, or not to be read."""

    def __init__(self, path: Path | str, what: str) -> None:
        super().__init__(errno.ENOKEY, what, str(path))


class DamagedError(EncryptedError):
    """An encrypted file, or the wrapped key of one, is not as it was written."""

    def __init__(self, path: Path | str, what: str) -> None:
        remedy = "restore it from a backup; `cloister audit verify` tells more"
        super().__init__(errno.EBADMSG, f"encrypted, and not as it was written: {what}; {remedy}", str(path))
