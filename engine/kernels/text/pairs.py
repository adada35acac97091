"""The tables of pieces and pairs, and the ids of a text: engine/tokenizer/bpe.py and spm.py.

Everything is the caller's, so several threads may encode at once.
"""

from typing import Any, NamedTuple

from engine.kernels.text.splits import part_end, segment_end
from engine.simd import I8, I32, I64
from engine.simd.compiled import entry, kernel

# A table of pairs has two arrays of 2^n places: the key `left << 32 | right`, NONE where the place is free, and the
# value `rank << 32 | merged`; a key lies at its hash or after it. `bpe.merge` is the slow truth.


NONE = -1
NEVER = 1 << 62
HALF = (1 << 32) - 1
SHORT = 24
"""Symbols of a part that is merged by looking at all of its pairs; longer ones have a heap."""


class Pairs(NamedTuple):
    """A table of pairs (the head of this file tells how it lies)."""

    keys: I64
    values: I64


@kernel
def merge(ids: I32, size: int, pairs: Pairs, links: I32, heap: I64) -> int:
    """Merge the symbols ids[:size] in place; how many are left. 3 * size places of `links` and of `heap` are used."""
    if size > SHORT:
        return int(_merge_long(ids, size, pairs, links, heap))
    return int(_merge_short(ids, size, pairs, heap))


@kernel
def _merge_short(ids: I32, size: int, pairs: Pairs, found: I64) -> int:
    """Merge symbols by looking at all pairs; how many are left. `found` has the value of each with the next one."""
    for i in range(size - 1):
        found[i] = _value(pairs, ids[i], ids[i + 1])
    while size > 1:
        best = 0
        for i in range(1, size - 1):
            if found[i] >> 32 < found[best] >> 32:
                best = i
        if found[best] == NEVER:
            break
        ids[best] = found[best] & HALF
        size -= 1
        for i in range(best + 1, size):
            ids[i] = ids[i + 1]
            found[i - 1] = found[i]
        if best:
            found[best - 1] = _value(pairs, ids[best - 1], ids[best])
        if best < size - 1:
            found[best] = _value(pairs, ids[best], ids[best + 1])
    return size


@kernel
def _merge_long(ids: I32, size: int, pairs: Pairs, links: I32, heap: I64) -> int:
    """Merge symbols by a heap of pairs; how many are left. `links` has for each symbol the next one, the one before it,
    and whether it is still there."""
    waiting = 0
    for i in range(size):
        links[i], links[size + i], links[2 * size + i] = i + 1, i - 1, 1
        waiting = _push(ids, i, i + 1, size, pairs, heap, waiting)
    while waiting:
        item = heap[0]
        waiting = _pop(heap, waiting)
        at = item & HALF
        after = links[at]
        if not links[2 * size + at] or after >= size:
            continue
        value = _value(pairs, ids[at], ids[after])
        if value >> 32 != item >> 32:
            continue  # one of the two has been merged since
        ids[at] = value & HALF
        links[2 * size + after] = 0
        links[at] = links[after]
        if links[at] < size:
            links[size + links[at]] = at
        if links[size + at] >= 0:
            waiting = _push(ids, links[size + at], at, size, pairs, heap, waiting)
        waiting = _push(ids, at, links[at], size, pairs, heap, waiting)
    kept = 0
    for i in range(size):
        if links[2 * size + i]:
            ids[kept] = ids[i]
            kept += 1
    return kept


@kernel
def _push(ids: I32, left: int, right: int, size: int, pairs: Pairs, heap: I64, waiting: int) -> int:
    """Push `rank << 32 | place` onto the heap, if the two are a pair; how many wait in it."""
    value = _value(pairs, ids[left], ids[right]) if right < size else NEVER
    if value == NEVER:
        return waiting
    item = ((value >> 32) << 32) | left
    at = waiting
    while at and heap[(at - 1) >> 1] > item:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = item
    return waiting + 1


@kernel
def _pop(heap: I64, waiting: int) -> int:
    waiting -= 1
    item, at = heap[waiting], 0
    while 2 * at + 1 < waiting:
        child = 2 * at + 1
        if child + 1 < waiting and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item
    return waiting


@kernel
def _value(pairs: Pairs, left: int, right: int) -> int:
    """The value of a pair; NEVER where the two are none."""
    if left < 0 or right < 0:
        return NEVER
    key = (int(left) << 32) | int(right)
    at = place_of(pairs.keys, key)
    return pairs.values[at] if pairs.keys[at] == key else NEVER


@kernel
def place_of(keys: I64, key: int) -> int:
    """The place of a key, or the free place where it belongs."""
    mixed = (key >> 32) * 2654435761 + (key & HALF) * 668265263
    at = (mixed ^ (mixed >> 23)) & (keys.size - 1)
    while keys[at] != NONE and keys[at] != key:
        at = (at + 1) & (keys.size - 1)
    return at


class Pieces(NamedTuple):
    """Pieces by their characters: piece p is blob[starts[p]:starts[p + 1]], and its id is numbers[p].

    A place of `slots` is NONE or a piece, which lies at its hash or after it; without slots no piece is found.
    """

    blob: I32
    starts: I32
    slots: I32
    numbers: I32


class Rules(NamedTuple):
    """How texts are cut (splits.py), the id of what is unknown, and how many ids there are."""

    family: int
    digits: int
    endings: bool
    unknown: int
    size: int


class Ids(NamedTuple):
    """The ids of the smallest parts of a text.

    `symbols` holds for each code point its id, NONE, or size + i for a code point without a piece, which is extra[i];
    it is empty where the smallest parts are bytes. `bytes` holds the id of each byte, NONE where there is none.
    """

    symbols: I32
    extra: I32
    bytes: I32


class Room(NamedTuple):
    """Room for the work on a text of n symbols: n in `ids`, 3n in `links`, 3n + 1 in `heap`."""

    ids: I32
    links: I32
    heap: I64


@entry
def insert_pairs(lefts: I32, rights: I32, ranks: I32, merged: I32, pairs: Pairs) -> None:
    """Insert pairs into a table. Of equal pairs the last one stays. At least one place stays free."""
    for i in range(lefts.size):
        key = (int(lefts[i]) << 32) | int(rights[i])
        at = place_of(pairs.keys, key)
        pairs.keys[at] = key
        pairs.values[at] = (int(ranks[i]) << 32) | int(merged[i])


@entry
def insert_pieces(pieces: Pieces) -> None:
    """Fill the slots of pieces, which are all NONE."""
    blob, starts, slots = pieces.blob, pieces.starts, pieces.slots
    for piece in range(starts.size - 1):
        at = _hash(blob, starts[piece], starts[piece + 1] - starts[piece]) & (slots.size - 1)
        while slots[at] != NONE:
            at = (at + 1) & (slots.size - 1)
        slots[at] = piece


@entry
def find_pairs(pieces: Pieces, symbols: I32, lefts: I32, rights: I32, merged: I32) -> int:
    """The pairs of pieces, or of characters, that are a piece together: their ids, and the number of its place; how
    many there are. Each array has a place for every character of the pieces."""
    count = 0
    for piece in range(pieces.starts.size - 1):
        begin, end = pieces.starts[piece], pieces.starts[piece + 1]
        for at in range(begin + 1, end):
            left = _symbol(pieces, begin, at - begin, symbols)
            right = _symbol(pieces, at, end - at, symbols)
            if left != NONE and right != NONE:
                lefts[count], rights[count], merged[count] = left, right, piece
                count += 1
    return count


@entry
def find_merges(text: I32, ends: I32, pieces: Pieces, lefts: I32, rights: I32, merged: I32) -> None:
    """Merge m is what is in text from ends[2m] to ends[2m + 1], and from there to ends[2m + 2]: the ids of both halves
    and of the whole, NONE where it is no piece. There is at least one piece."""
    numbers = pieces.numbers
    for m in range(lefts.size):
        begin, middle, end = ends[2 * m], ends[2 * m + 1], ends[2 * m + 2]
        left = _find(text, begin, middle - begin, pieces)
        right = _find(text, middle, end - middle, pieces)
        whole = _find(text, begin, end - begin, pieces)
        lefts[m] = numbers[left] if left != NONE else NONE
        rights[m] = numbers[right] if right != NONE else NONE
        merged[m] = numbers[whole] if whole != NONE else NONE


@kernel
def _symbol(pieces: Pieces, begin: int, size: int, symbols: I32) -> int:
    if size == 1:
        return int(symbols[pieces.blob[begin]])
    found = _find(pieces.blob, begin, size, pieces)
    return pieces.numbers[found] if found != NONE else NONE


@entry
def encode(codes: I32, classes: I8, rules: Any, known: Any, pairs: Any, whole: Any, room: Any, out: I32) -> int:
    """The ids of a text in `out`, and how many they are: a text of n symbols has at most n.

    `codes` are its code points, `classes` holds the class of each code point, `whole` the pieces that a part of the
    text between two cuts may be as a whole. The others are plain tuples with the fields of the named ones: to hand over
    a named tuple takes half a microsecond, and a short text takes two.
    """
    return int(_encode(codes, classes, Rules(*rules), Ids(*known), Pairs(*pairs), Pieces(*whole), Room(*room), out))


@kernel
def _encode(
    codes: I32, classes: I8, rules: Rules, known: Ids, pairs: Pairs, whole: Pieces, room: Room, out: I32
) -> int:
    at, segment, count, end, ids = 0, 0, 0, codes.size, room.ids
    while at < end:
        if at >= segment:
            segment = segment_end(codes, at, end, classes, rules.family, rules.digits)
        stop = max(part_end(codes, at, segment, classes, rules.family, rules.digits, rules.endings), at + 1)
        if known.symbols.size:
            size = _characters(codes, at, stop, known.symbols, ids)
            size = merge(ids, size, pairs, room.links, room.heap)
            count = _write(ids, size, rules, known, out, count)
        else:
            size = _bytes(codes, at, stop, ids)
            found = _find(ids, 0, size, whole) if whole.slots.size else NONE
            if found != NONE:
                ids[0], size = whole.numbers[found], 1
            else:
                size = _known(ids, size, known.bytes)
                size = merge(ids, size, pairs, room.links, room.heap)
            for i in range(size):
                out[count + i] = ids[i]
            count += size
        at = stop
    return count


@kernel
def _characters(codes: I32, at: int, stop: int, symbols: I32, ids: I32) -> int:
    """Write the symbols of code points at..stop as ids, -2 - code point for those in no piece; their number."""
    for i in range(at, stop):
        symbol = symbols[codes[i]]
        ids[i - at] = symbol if symbol != NONE else -2 - codes[i]
    return stop - at


@kernel
def _bytes(codes: I32, at: int, stop: int, ids: I32) -> int:
    """Write the UTF-8 bytes of code points at..stop as ids; their number."""
    size = 0
    for i in range(at, stop):
        size = _utf8(codes[i], ids, size)
    return size


@kernel
def _utf8(code: int, ids: I32, size: int) -> int:
    if code < 0x80:
        ids[size] = code
        return size + 1
    if code < 0x800:
        ids[size] = 0xC0 | (code >> 6)
    elif code < 0x10000:
        ids[size] = 0xE0 | (code >> 12)
        ids[size + 1] = 0x80 | ((code >> 6) & 63)
        size += 1
    else:
        ids[size] = 0xF0 | (code >> 18)
        ids[size + 1] = 0x80 | ((code >> 12) & 63)
        ids[size + 2] = 0x80 | ((code >> 6) & 63)
        size += 2
    ids[size + 1] = 0x80 | (code & 63)
    return size + 2


@kernel
def _known(ids: I32, size: int, bytes_ids: I32) -> int:
    """Replace bytes by their ids, and leave out those that have none; how many there are then."""
    kept = 0
    for i in range(size):
        number = bytes_ids[ids[i]]
        if number != NONE:
            ids[kept] = number
            kept += 1
    return kept


@kernel
def _write(ids: I32, size: int, rules: Rules, known: Ids, out: I32, count: int) -> int:
    """Write pieces, and for characters without one their bytes, or what is unknown, once for those beside each other;
    how many ids `out` holds then."""
    begin = count
    for i in range(size):
        symbol = ids[i]
        if 0 <= symbol < rules.size:
            out[count] = symbol
            count += 1
            continue
        code = known.extra[symbol - rules.size] if symbol >= rules.size else -2 - symbol
        if known.bytes.size:
            stop = _utf8(code, out, count)
            for k in range(count, stop):
                out[k] = known.bytes[out[k]]
            count = stop
        elif count == begin or out[count - 1] != rules.unknown:
            out[count] = rules.unknown
            count += 1
    return count


@kernel
def _find(text: I32, first: int, size: int, pieces: Pieces) -> int:
    """The piece that is text[first : first + size], or NONE."""
    blob, starts, slots = pieces.blob, pieces.starts, pieces.slots
    at = _hash(text, first, size) & (slots.size - 1)
    while slots[at] != NONE:
        piece = slots[at]
        begin = starts[piece]
        same = size if starts[piece + 1] - begin == size else NONE
        for i in range(size):
            if same == NONE or blob[begin + i] != text[first + i]:
                same = NONE
                break
        if same != NONE:
            return int(piece)
        at = (at + 1) & (slots.size - 1)
    return NONE


@kernel
def _hash(text: I32, begin: int, size: int) -> int:
    found = int(size)
    for i in range(begin, begin + size):
        found = (found * 4093 + int(text[i])) & ((1 << 48) - 1)
    return found ^ (found >> 21)
