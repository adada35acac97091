"""One pass over all entries of a log, from the first to what an interrupted commit left behind the last: the tree that
they give, held against the stored tiles on the way."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from audit.entry import Entry, parse_entry, stamp_of
from audit.merkle import WIDTH, TileData, Tree, leaf_hash
from audit.parallel import Hashed
from audit.stamp import Stamp
from audit.store import SEGMENT_ENTRIES, Line, segment_of
from audit.stored import StoredTiles, TileFault

Progress = Callable[[int, int], None]


@dataclass
class Beyond:
    """The lines behind the signed entries: well-formed ones, `bytes` long, of one commit or more (the stamps, two at
    most), and then perhaps a `rest` that is none."""

    entries: int = 0
    bytes: int = 0
    stamps: set[Stamp] = field(default_factory=set)
    rest: Line | None = None


@dataclass
class Walk:
    """The result of a walk over the entries. `broken` is the first of the `size` signed entries that is none, as
    (number, what is wrong); if there is one, the walk ended there. Otherwise `root` is their root and `bytes` what
    their lines take, and the tree is that of all entries, with those beyond."""

    tree: Tree = field(default_factory=Tree)
    faults: list[TileFault] = field(default_factory=list)
    broken: tuple[int, str] | None = None
    root: bytes = b""
    bytes: int = 0
    beyond: Beyond = field(default_factory=Beyond)


def walk(
    read: Callable[[int], Iterator[Line]],
    size: int,
    stored: StoredTiles,
    progress: Progress,
    hashed: Iterable[Hashed] = (),
) -> Walk:
    """`read(n)` gives the lines from entry n on. `hashed` are the first segments, if something read them already: then
    the walk begins behind them, and comes to the same end."""
    found = Walk()
    for segment in hashed:
        _take_hashed(found, segment, stored)
        progress(found.tree.size, size)
    lines = read(found.tree.size)
    _walk_signed(found, lines, size, stored, progress)
    if found.broken is None:
        found.root = found.tree.root()
        found.beyond = walk_beyond(found.tree, found.faults, lines, stored)
    for tile in found.tree.unfinished():
        found.faults += stored.compare(tile, known=tile.width if found.broken else None)
    progress(min(found.tree.size, size), size)
    return found


def _take_hashed(found: Walk, segment: Hashed, stored: StoredTiles) -> None:
    index = found.tree.size // WIDTH
    found.tree.edge = found.tree.edge or [[]]
    for at, (leaves, root) in enumerate(zip(segment.leaves, segment.roots, strict=True), index):
        for tile in (TileData(0, at, leaves), *found.tree.append(root, level=1)):
            found.faults += stored.compare(tile)
    found.bytes += segment.size


def _walk_signed(found: Walk, lines: Iterator[Line], size: int, stored: StoredTiles, progress: Progress) -> None:
    for n in range(found.tree.size, size):
        if (line := next(lines, None)) is None:
            found.broken = n, "missing: the file ends before it"
            return
        try:
            check_line(line, n)
        except ValueError as error:
            found.broken = n, str(error)
            return
        found.bytes += len(line.data) + 1
        _append(found.tree, found.faults, line, stored)
        if n % SEGMENT_ENTRIES == 0:
            progress(n, size)


def walk_beyond(tree: Tree, faults: list[TileFault], lines: Iterator[Line], stored: StoredTiles) -> Beyond:
    """Go on behind the entries of `tree`; it and the faults grow."""
    found = Beyond()
    for line in lines:
        try:
            entry = check_line(line, line.n)
        except ValueError:
            found.rest = line
            break
        found.entries += 1
        found.bytes += len(line.data) + 1
        if len(found.stamps) < 2:
            found.stamps.add(stamp_of(entry))
        _append(tree, faults, line, stored)
    return found


def _append(tree: Tree, faults: list[TileFault], line: Line, stored: StoredTiles) -> None:
    for tile in tree.append(leaf_hash(line.data)):
        faults += stored.compare(tile)


def check_line(line: Line, n: int) -> Entry:
    """The entry n on this line; ValueError says why it is none."""
    if line.segment != segment_of(n):
        raise ValueError(f"a line more than the {SEGMENT_ENTRIES} that {line.segment} can have")
    entry = parse_entry(line.data, n)
    if not line.whole:
        raise ValueError("its line has no end")
    return entry
