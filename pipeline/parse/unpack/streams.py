"""Compressed bytes to bytes, in pieces: what gzip, bzip2, xz and the members of a ZIP archive share."""

import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Protocol

from pipeline.errors import DocumentError, Failure
from pipeline.parse.limits import MIB

PIECE = MIB  # bytes that are given at once
_TAKEN = 1 << 16  # bytes that are taken at once: what is left of them is copied at each step
DICTIONARY = 256 * MIB  # what LZMA may look back, which is memory


class Codec(Protocol):
    """A decompressor, as zlib, bz2 and lzma make them."""

    @property
    def eof(self) -> bool:
        """Whether the compressed stream has come to its end."""

    @property
    def unused_data(self) -> bytes:
        """The bytes that were taken beyond the end of the compressed stream."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Decompress to at most `max_length` bytes more."""


DEFLATED = partial(zlib.decompressobj, -zlib.MAX_WBITS)
"""Raw Deflate (RFC 1951), as in a ZIP archive."""
GZIPPED = partial(zlib.decompressobj, 16 + zlib.MAX_WBITS)
"""One gzip member (RFC 1952); checks its CRC and length."""
XZ = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=DICTIONARY)
"""One xz stream; checks its checksums."""


class DamagedError(Exception):
    """Bytes that cannot be unpacked: the failure and its reason."""

    def __init__(self, failure: Failure, reason: str) -> None:
        super().__init__(reason)
        self.failure = failure
        self.reason = reason

    def of(self, container: str) -> DocumentError:
        """The failure of a whole container that cannot be given without this."""
        return DocumentError(self.failure, f"{container}: {self.reason}")


def expand(codec: Codec, data: memoryview, begin: int = 0) -> Generator[bytes, None, int]:
    """The bytes of the one stream from data[begin:], in pieces; returns where it ends. Raises DamagedError."""
    at, rest = begin, b""
    while not codec.eof:
        if not rest and getattr(codec, "needs_input", True):
            rest = bytes(data[at : at + _TAKEN])
            at += len(rest)
        piece = _step(codec, rest)
        if not piece and not rest and not codec.eof and at >= len(data):
            raise DamagedError(Failure.CORRUPT, "its compressed bytes end too early")
        rest = getattr(codec, "unconsumed_tail", b"")
        if piece:
            yield piece
    return at - len(codec.unused_data)


def _step(codec: Codec, data: bytes) -> bytes:
    try:
        return codec.decompress(data, PIECE)
    except lzma.LZMAError as error:
        if "Memory" in str(error):
            reason = f"it needs more than {DICTIONARY // MIB} MiB to be unpacked"
            raise DamagedError(Failure.OUT_OF_MEMORY, reason) from error
        raise DamagedError(Failure.CORRUPT, f"its compressed bytes are damaged ({error})") from error
    except (zlib.error, OSError, ValueError, EOFError) as error:
        raise DamagedError(Failure.CORRUPT, f"its compressed bytes are damaged ({error})") from error


class Concatenated:
    """Streams of one kind one after another, as `cat a.gz b.gz` makes them, given as one.

    `left` is then how many bytes at the end are no such stream. Raises DocumentError(BOMB) beyond `most` bytes.
    """

    def __init__(self, make: Callable[[], Codec], magic: bytes, data: bytes, most: int) -> None:
        self._make = make
        self._magic = magic
        self._data = memoryview(data)
        self._most = most
        self.left = 0

    def pieces(self) -> Iterator[bytes]:
        """The bytes of all streams, in pieces; raises DamagedError."""
        at, given = 0, 0
        while bytes(self._data[at : at + len(self._magic)]) == self._magic:
            stream = expand(self._make(), self._data, at)
            while True:
                try:
                    piece = next(stream)
                except StopIteration as end:
                    at = end.value
                    break
                given += len(piece)
                if given > self._most:
                    raise DocumentError(
                        Failure.BOMB, f"it unpacks to more than {self._most:,} bytes, which limits.unpacked_mib allows"
                    )
                yield piece
        self.left = len(bytes(self._data[at:]).strip(b"\0"))  # zeros: padding of tapes
