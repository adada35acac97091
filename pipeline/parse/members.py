"""Documents inside a document, on their way out of the child: their bytes go to one file, one after another."""

import os
from collections.abc import Iterable

from pipeline.document import Member, Picture
from pipeline.errors import DocumentError, Failure
from pipeline.parse.limits import UNSUSPICIOUS, Limits

_NAME = 500  # characters


class NoRoomError(Exception):
    """The file system of what is unpacked is full: the operator's trouble, not the document's."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.errno = number


class Members:
    """The files unpacked from one document of `container` bytes into the file open at `out`: at most so many
    `documents`, of `size` bytes together.

    Without a file nothing is unpacked: `open` is False, and `add` counts what was `left`.
    """

    def __init__(self, out: int | None, container: int, limits: Limits, documents: int, size: int) -> None:
        self._out = out
        self._documents = documents
        self._room = size
        self._size = min(size, max(UNSUSPICIOUS, limits.unpacked_ratio * container))
        self._limits = limits
        self._members: list[Member] = []
        self._images: list[Picture] = []
        self._names: dict[str, int] = {}  # how often each was asked for
        self._written = 0
        self.left = 0

    @property
    def open(self) -> bool:
        """Whether there is a file for members to go to."""
        return self._out is not None

    def add(self, name: str, chunks: Iterable[bytes]) -> None:
        """Unpack one member. Raises DocumentError(BOMB) beyond what is allowed, and whatever `chunks` raises.

        After an error of `chunks`, `refuse` says what became of that member.
        """
        if self._out is None:
            self.left += 1
            return
        self._count()
        begin = self._written
        for chunk in chunks:
            self._write(chunk, self._size)
        unsafe = _unsafe(name)
        failure = (Failure.NAME_REFUSED, f"its name is {name[:_NAME]!r}, {unsafe}") if unsafe else (None, None)
        self._members.append(Member(self._unique(name), self._written - begin, begin, *failure))

    def refuse(self, name: str, size: int, failure: Failure, reason: str) -> None:
        """Take a member that cannot be unpacked; it is a failed document of its own. Raises DocumentError(BOMB)."""
        self._count()
        self._members.append(Member(self._unique(name), max(0, size), None, failure, reason))

    def write_picture(self, data: bytes) -> tuple[int, int]:
        """Write a PGM file: its offset and size. Raises DocumentError(BOMB)."""
        begin = self._written
        self._write(data, self._limits.unpacked_bytes)
        return begin, len(data)

    def picture(self, name: str, offset: int, size: int) -> None:
        """A picture that was written, by a name; several names may have the same one."""
        self._images.append(Picture(name, offset, size))

    @property
    def room(self) -> int:
        """Bytes that pictures may still have. They are of our making, and are gone once they are read: neither a ratio
        holds for them nor what the documents around leave."""
        return self._limits.unpacked_bytes - self._written if self.open else 0

    def finish(self) -> tuple[tuple[Member, ...], tuple[Picture, ...]]:
        """The documents and pictures, in their order."""
        return tuple(self._members), tuple(self._images)

    def _count(self) -> None:
        if len(self._members) >= self._documents:
            limit = self._limits.named("unpacked_documents")
            raise DocumentError(Failure.BOMB, f"it, or what is around it, holds more documents than {limit} allows")

    def _write(self, chunk: bytes, most: int) -> None:
        assert self._out is not None
        if self._written + len(chunk) > most:
            by_ratio = most < self._room
            limit = self._limits.named("unpacked_ratio" if by_ratio else "unpacked_bytes")
            what = "it unpacks to more times its own size" if by_ratio else "it, or what is around it, unpacks to more"
            raise DocumentError(Failure.BOMB, f"{what} than {limit} allows")
        view = memoryview(chunk)
        try:
            while view:
                done = os.pwrite(self._out, view, self._written)
                self._written += done
                view = view[done:]
        except OSError as error:
            raise NoRoomError(error.errno or 0) from error

    def _unique(self, name: str) -> str:
        """A name that no other member has, with "/" between folders."""
        name = name.replace("\\", "/").strip("/")[:_NAME] or "without a name"
        stem, dot, suffix = name.rpartition(".")
        unique = name
        while unique in self._names:
            self._names[name] += 1
            number = self._names[name]
            unique = f"{stem} ({number}).{suffix}" if dot and "/" not in suffix else f"{name} ({number})"
        self._names[unique] = 1
        return unique


def _unsafe(name: str) -> str | None:
    """The reason why an unpacking program should not write to this name; None where it may."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or (len(parts[0]) == 2 and parts[0][1] == ":"):
        return "an absolute path"
    if ".." in parts:
        return "which leads out of its folder"
    return "with a zero byte" if "\0" in name else None
