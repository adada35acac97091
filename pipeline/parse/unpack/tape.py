"""The blocks of a tape archive: ustar and pax (IEEE Std 1003.1, pax), GNU tar and the old form before them.

Read as a stream, so that one inside gzip need not be unpacked first. A header whose checksum is wrong is damage, never
the end; Python's tarfile would stop there and say nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding.decode import decode
from pipeline.parse.limits import MIB
from pipeline.parse.unpack.streams import PIECE, DamagedError

BLOCK = 512
_EXTENSION = MIB  # bytes of names and pax records of one member
_WITHOUT_CONTENT = frozenset(b"123456")
_CHECKSUM = slice(148, 156)


@dataclass(frozen=True)
class Entry:
    """One member: `kind` is its type flag; `sparse` says that its content is written with holes left out."""

    name: str
    kind: str
    size: int
    sparse: bool = False


@dataclass
class _Extended:
    """The name and records that extension headers give the next member."""

    name: bytes | None = None
    records: dict[str, bytes] = field(default_factory=dict)


def is_tape(block: bytes) -> bool:
    """Whether bytes begin with a header: by its checksum, which every kind of tape archive has."""
    block = block[:BLOCK]
    return len(block) == BLOCK and block[0] != 0 and _sums(block)


def _sums(block: bytes) -> bool:
    written = block[_CHECKSUM].strip(b" \0")
    if not written or not written.isdigit() or len(written) > 7:
        return False
    rest = block[:148] + b" " * 8 + block[156:]
    unsigned = sum(rest)
    if (said := _octal(written)) == unsigned:
        return True
    return said == unsigned - 256 * sum(byte > 127 for byte in rest)  # signed bytes, as some old programs added them


def _octal(digits: bytes) -> int | None:
    try:
        return int(digits, 8)
    except ValueError:
        return None


class Tape:
    """A stream of blocks, read once from begin to end."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")
        self._at = 0
        self.content = 0  # bytes of the present member that have not been given
        self.left = 0  # bytes after its end that are no archive
        self.ended = False  # whether there is a mark of its end

    def entries(self) -> Iterator[Entry]:
        """The members; between two steps `pieces` gives the present one's bytes. Raises DamagedError."""
        extended, common = _Extended(), dict[str, bytes]()
        while block := self._take(BLOCK):
            if block.count(0) == len(block):
                self.ended = True
                continue
            if not (len(block) == BLOCK and _sums(block)):
                if not self.ended:
                    raise DamagedError(Failure.CORRUPT, "it is cut or damaged: what follows is no header")
                self.left = len(block) + len(self._rest) + sum(map(len, self._chunks))
                return
            # The number in a field: octal digits, or base 256 with the first bit set, as GNU tar writes large ones.
            digits = block[124:136]
            if digits[0] & 0x80:
                value: int | None = int.from_bytes(bytes([digits[0] & 0x7F]) + digits[1:], "big")
            else:
                value = _octal(digits.strip(b" \0") or b"0")
            if value is None or not 0 <= value < 2**62:
                raise DamagedError(Failure.CORRUPT, "the size of a file in it is no number")
            kind, size = block[156:157], value
            if kind in (b"x", b"X", b"g", b"L", b"K"):
                self._extension(kind, size, extended, common)
                continue
            yield from self._entry(block, kind, size, extended, common)
            extended = _Extended()

    def _entry(
        self, block: bytes, kind: bytes, size: int, extended: _Extended, common: dict[str, bytes]
    ) -> Iterator[Entry]:
        records = common | extended.records
        size = _decimal(records["size"]) if "size" in records else size
        if kind == b"S":
            self._skip_map(block)
        self.content = 0 if kind[0] in _WITHOUT_CONTENT else size
        behind = self._at + self.content + -self.content % BLOCK
        sparse = kind == b"S" or any(key.startswith("GNU.sparse.") for key in records)
        yield Entry(_name(block, extended.name, records), kind.decode("latin-1"), size, sparse)
        self._skip(behind - self._at)

    def pieces(self) -> Iterator[bytes]:
        """The present member's bytes; raises DamagedError where the archive ends within them."""
        while self.content:
            piece = self._some(min(self.content, PIECE))
            self.content -= len(piece)
            yield piece

    def _extension(self, kind: bytes, size: int, extended: _Extended, common: dict[str, bytes]) -> None:
        if size > _EXTENSION:
            raise DocumentError(
                Failure.BOMB, f"a tape archive with a header of {size:,} bytes; {_EXTENSION:,} are read"
            )
        content = self._take(size)
        self._skip(-size % BLOCK)
        if len(content) < size:
            raise DamagedError(Failure.CORRUPT, "it is cut within a header")
        if kind == b"L":
            extended.name = content.rstrip(b"\0")
        elif kind == b"g":
            common.update(_records(content))
        elif kind in (b"x", b"X"):
            extended.records.update(_records(content))

    def _skip_map(self, block: bytes) -> None:
        """Skip the blocks that continue the map of an old sparse member of GNU tar."""
        more = block[482]
        while more:
            block = self._take(BLOCK)
            if len(block) < BLOCK:
                raise DamagedError(Failure.CORRUPT, "it is cut within a header")
            more = block[504]

    def _some(self, most: int) -> bytes:
        """The next bytes, at least one and at most `most`; raises DamagedError at the end."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise DamagedError(Failure.CORRUPT, "it ends within a file")
            self._rest = memoryview(chunk)
        piece, self._rest = bytes(self._rest[:most]), self._rest[most:]
        self._at += len(piece)
        return piece

    def _take(self, size: int) -> bytes:
        pieces, missing = [], size
        while missing:
            try:
                pieces.append(self._some(missing))
            except DamagedError:
                break
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def _skip(self, size: int) -> None:
        while size > 0:
            size -= len(self._some(min(size, PIECE)))


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > 18:
        raise DamagedError(Failure.CORRUPT, "the size of a file in it is no number")
    return int(digits)


def _records(content: bytes) -> dict[str, bytes]:
    """Read pax records, each "LENGTH KEY=VALUE\\n" with its own length."""
    found, at = dict[str, bytes](), 0
    while at < len(content) and content[at]:
        length, space, _ = content[at : at + 20].partition(b" ")
        end = at + (int(length) if length.isdigit() and len(length) < 9 else 0)
        if not space or end <= at + len(length) + 1 or end > len(content):
            raise DamagedError(Failure.CORRUPT, "a header in it is damaged")
        key, _, value = content[at + len(length) + 1 : end - 1].partition(b"=")
        found[key.decode("utf-8", "replace")] = value
        at = end
    return found


def _name(block: bytes, long: bytes | None, records: dict[str, bytes]) -> str:
    raw = records.get("GNU.sparse.name") or records.get("path") or long
    if not raw:
        raw = block[:100].split(b"\0", 1)[0]
        prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
        raw = prefix + b"/" + raw if prefix else raw
    try:
        return decode(raw).text if raw else ""
    except DocumentError:
        return raw.decode("latin-1")
