"""The folder of a worker in which files lie by their sha256: models and learned heads, each sent once."""

import os
import re
from pathlib import Path
from typing import Final

from pipeline.cluster.errors import ClusterError
from pipeline.paths.names import file_sha256

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
MODEL, HEAD = ".gguf", ".head"
ENDINGS: Final = (MODEL, HEAD)


class Place:
    """A worker's folder. Files of the site's own that lie there under any name are found by what they hold."""

    def __init__(self, folder: Path) -> None:
        """ClusterError if the folder cannot be made, read or written."""
        self.folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._own = {file_sha256(path) + path.suffix: path for path in sorted(folder.iterdir()) if _is_own(path)}
        except OSError as error:
            raise ClusterError(f"{error.filename or folder}: {error.strerror}; name another folder") from error
        if not os.access(folder, os.W_OK):
            raise ClusterError(f"{folder}: may not be written by this user; name another folder")

    def path(self, sha256: str, ending: str) -> Path:
        """Where the file of that digest lies, or would. ValueError for what is no name of one."""
        if not _SHA256.fullmatch(sha256) or ending not in ENDINGS:
            raise ValueError(f"not the digest of a file: {sha256[:80]!r}{ending[:10]!r}")
        return self._own.get(sha256 + ending, self.folder / f"{sha256}{ending}")

    def has(self, sha256: str, ending: str) -> bool:
        """Whether the file is there, whole."""
        return self.path(sha256, ending).is_file()

    def received(self, sha256: str, ending: str) -> int:
        """The bytes of a file that have come so far."""
        partial = self._partial(sha256, ending)
        return partial.stat().st_size if partial.exists() else 0

    def receive(self, sha256: str, ending: str, offset: int, data: bytes, size: int) -> bool:
        """Take the bytes from `offset` of a file of `size` bytes; whether it is whole now, its digest checked.

        ValueError for bytes that do not follow those that are there, or a file that is not that of its digest, which
        is then begun anew. OSError where there is no room; what came stays, and the rest may come later.
        """
        partial = self._partial(sha256, ending)
        if offset != self.received(sha256, ending):
            raise ValueError(f"bytes from {offset} on, expected from {self.received(sha256, ending)} on")
        with partial.open("ab") as file:
            file.write(data)
            if file.tell() < size:
                return False
            file.flush()
            os.fsync(file.fileno())
        if (found := file_sha256(partial)) != sha256:
            partial.unlink()
            raise ValueError(f"the file that came has sha256 {found}, expected {sha256}")
        partial.replace(self.path(sha256, ending))
        return True

    def _partial(self, sha256: str, ending: str) -> Path:
        return self.folder / f".{self.path(sha256, ending).name}.part"


def _is_own(path: Path) -> bool:
    """Whether somebody put a file there under a name of his own."""
    named = path.name.startswith(".") or _SHA256.fullmatch(path.stem)
    return path.suffix in ENDINGS and not named and path.is_file()
