"""The folder of a worker in which files lie by their sha256: models and learned heads, each sent once."""

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from pipeline.cluster.errors import ClusterError

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
ENDINGS: Final = (".gguf", ".head")


class Place:
    """A worker's folder. Files of the site's own that lie there under any name are found by what they hold."""

    def __init__(self, folder: Path) -> None:
        """ClusterError if the folder cannot be made or written."""
        self.folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ClusterError(f"{folder}: {error.strerror}; choose another folder with --models") from error
        if not os.access(folder, os.W_OK):
            raise ClusterError(f"{folder}: may not be written by this user; choose another folder with --models")

    def path(self, sha256: str, ending: str) -> Path:
        """Where the file of that digest lies, or would. ValueError for what is no name of one."""
        if not _SHA256.fullmatch(sha256) or ending not in ENDINGS:
            raise ValueError(f"not the digest of a file: {sha256[:80]!r}{ending[:10]!r}")
        return self.folder / f"{sha256}{ending}"

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
        with partial.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            partial.unlink()
            raise ValueError(f"the file that came has sha256 {found}, expected {sha256}")
        partial.replace(self.path(sha256, ending))
        return True

    def adopt(self) -> None:
        """Give each model that somebody put there under a name of its own its name by digest. OSError."""
        for path in sorted(self.folder.iterdir()):
            if path.suffix in ENDINGS and not _SHA256.fullmatch(path.stem) and not path.name.startswith("."):
                with path.open("rb") as file:
                    target = self.path(hashlib.file_digest(file, "sha256").hexdigest(), path.suffix)
                if not target.exists():
                    target.symlink_to(path.name)

    def _partial(self, sha256: str, ending: str) -> Path:
        path = self.path(sha256, ending)
        return path.with_name(f".{path.name}.part")
