"""The files in a ZIP container, read with caps: what Office packages, OpenDocument and EPUB have in common."""

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.errors import DocumentError, Failure
from pipeline.parse.limits import MIB

_PART_BYTES = 256 * MIB
_TOTAL_BYTES = 512 * MIB
_CHUNK = MIB
_Chunks = Iterator[bytes]
_Bytes = bytes  # a method of Archive has that name


class Archive:
    """An open container of documents' parts; `what` it is. Raises DocumentError for whatever is wrong with it."""

    def __init__(self, data: bytes, what: str) -> None:
        with _damage("its ZIP container"):
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        if any(info.flag_bits & 1 for info in self._zip.infolist()):
            raise DocumentError(Failure.ENCRYPTED, f"{what} whose parts have a password")
        self.names = self._zip.namelist()
        self._names = {name.lower(): name for name in self.names} | {name: name for name in self.names}
        self._read = 0

    def has(self, part: str) -> bool:
        """Whether the archive has a part of this name, in whatever case it is written."""
        return part in self._names or part.lower() in self._names

    def count(self, folder: str) -> int:
        """How many files lie in folders of this name ("media", "embeddings"), in whatever case."""
        return sum(f"/{folder}/" in f"/{name}" for name in {name.lower() for name in self.names})

    def bytes(self, part: str) -> bytes:
        """A part's bytes, at most 256 MiB, and 512 MiB of all parts together."""
        info = self._take(part)
        with _damage(part):
            return self._zip.read(info)

    def head(self, part: str, size: int) -> _Bytes:
        """The first `size` bytes of a part or all of a shorter one; none where it is damaged."""
        try:
            with _damage(part), self._zip.open(self._names.get(part) or self._names[part.lower()]) as file:
                return file.read(size)
        except DocumentError:
            return b""

    def chunks(self, part: str) -> _Chunks:
        """A part's bytes one piece after another, with the same caps."""
        info = self._take(part)
        with _damage(part), self._zip.open(info) as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def _take(self, part: str) -> zipfile.ZipInfo:
        info = self._zip.getinfo(self._names.get(part) or self._names[part.lower()])
        self._read += info.file_size  # zipfile never returns more than is declared
        if info.file_size > _PART_BYTES or self._read > _TOTAL_BYTES:
            raise DocumentError(Failure.TOO_LARGE, f"{part} unpacks to {info.file_size:,} bytes")
        return info


@contextmanager
def _damage(what: str) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        NotImplementedError,
        ValueError,
        OSError,
    ) as error:
        raise DocumentError(Failure.CORRUPT, f"{what} is damaged: {error}") from error
