"""Pairs of pieces, merged in the order of their ranks, and the ids of a text: engine/tokenizer/bpe.py and spm.py.

A table of pairs has two arrays of 2^n places: the key `left << 32 | right`, NONE where the place is free, and the value
`rank << 32 | merged`; a key lies at its hash or after it. Everything is the caller's, so several threads may encode at
once. `bpe.merge` is the slow truth.
"""

from engine.kernels.compiled import entry, kernel
from engine.kernels.text.splits import part_end, segment_end
from engine.simd import I8, I32, I64

NONE = -1
NEVER = 1 << 62
HALF = (1 << 32) - 1
SHORT = 24
"""Symbols of a part that is merged by looking at all of its pairs; longer ones have a heap."""


@entry
def insert_pairs(lefts: I32, rights: I32, ranks: I32, merged: I32, keys: I64, values: I64) -> None:
    """Table of pairs. Of equal pairs the last one stays. At least one place stays free."""
    for i in range(lefts.size):
        key = (int(lefts[i]) << 32) | int(rights[i])
        at = _place(keys, key)
        keys[at] = key
        values[at] = (int(ranks[i]) << 32) | int(merged[i])


@entry
def insert_pieces(blob: I32, starts: I32, slots: I32) -> None:
    """Piece p is blob[starts[p]:starts[p + 1]]; slots are NONE or a piece, at its hash or after it."""
    for piece in range(starts.size - 1):
        size = starts[piece + 1] - starts[piece]
        at = _hash(blob, starts[piece], size) & (slots.size - 1)
        while slots[at] != NONE:
            at = (at + 1) & (slots.size - 1)
        slots[at] = piece


@entry
def find_pairs(
    blob: I32, starts: I32, slots: I32, numbers: I32, symbols: I32, lefts: I32, rights: I32, merged: I32
) -> int:
    """The pairs of pieces, or of characters, that are a piece together: their ids, and the number of its place; how
    many there are. Each array has a place for every character of the pieces."""
    count = 0
    for piece in range(starts.size - 1):
        begin, end = starts[piece], starts[piece + 1]
        for at in range(begin + 1, end):
            left = _symbol(blob, begin, at - begin, starts, slots, numbers, symbols)
            right = _symbol(blob, at, end - at, starts, slots, numbers, symbols)
            if left != NONE and right != NONE:
                lefts[count], rights[count], merged[count] = left, right, piece
                count += 1
    return count


@entry
def find_merges(
    text: I32, ends: I32, blob: I32, starts: I32, slots: I32, numbers: I32, lefts: I32, rights: I32, merged: I32
) -> None:
    """Merge m is what is in text from ends[2m] to ends[2m + 1], and from there to ends[2m + 2]: the ids of both parts
    and of the whole, NONE where it is no piece. There is at least one piece."""
    for m in range(lefts.size):
        begin, middle, end = ends[2 * m], ends[2 * m + 1], ends[2 * m + 2]
        left = _find(text, begin, middle - begin, blob, starts, slots)
        right = _find(text, middle, end - middle, blob, starts, slots)
        whole = _find(text, begin, end - begin, blob, starts, slots)
        lefts[m] = numbers[left] if left != NONE else NONE
        rights[m] = numbers[right] if right != NONE else NONE
        merged[m] = numbers[whole] if whole != NONE else NONE


@kernel
def _symbol(blob: I32, begin: int, size: int, starts: I32, slots: I32, numbers: I32, symbols: I32) -> int:
    if size == 1:
        return int(symbols[blob[begin]])
    found = _find(blob, begin, size, blob, starts, slots)
    return numbers[found] if found != NONE else NONE


@entry
def encode(
    codes: I32, classes: I8, rules: I32, symbols: I32, extra: I32, bytes_ids: I32, keys: I64, values: I64,
    blob: I32, starts: I32, slots: I32, numbers: I32, ids: I32, links: I32, heap: I64, out: I32,
) -> int:  # fmt: skip
    """The ids of a text in `out`, and how many they are.

    rules: family, digits, endings (splits.py), the id of what is unknown, and how many ids there are. symbols: empty
    where they are bytes, else of each code point its id, NONE, or one beyond the ids for a code point without a piece,
    extra[id - size]. bytes_ids: of each byte, NONE where there is none. slots: of pieces that a part may be as a
    whole, and numbers their ids. A text of n symbols needs n in ids and out, 3n in links and heap.
    """
    family, digits = rules[0], rules[1]
    at, segment, count, end = 0, 0, 0, codes.size
    while at < end:
        if at >= segment:
            segment = segment_end(codes, at, end, classes, family, digits)
        stop = max(part_end(codes, at, segment, classes, family, digits, rules[2]), at + 1)
        if symbols.size:
            size = _characters(codes, at, stop, symbols, ids)
            size = _merge(ids, size, keys, values, links, heap)
            count = _write(ids, size, rules[3], rules[4], extra, bytes_ids, out, count)
        else:
            size = _bytes(codes, at, stop, ids)
            found = _find(ids, 0, size, blob, starts, slots) if slots.size else NONE
            if found != NONE:
                ids[0], size = numbers[found], 1
            else:
                size = _known(ids, size, bytes_ids)
                size = _merge(ids, size, keys, values, links, heap)
            for i in range(size):
                out[count + i] = ids[i]
            count += size
        at = stop
    return count


@kernel
def _characters(codes: I32, at: int, stop: int, symbols: I32, ids: I32) -> int:
    """Symbols; those that are in no piece are -2 - code point."""
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
    """The ids of bytes, without those that have none."""
    kept = 0
    for i in range(size):
        number = bytes_ids[ids[i]]
        if number != NONE:
            ids[kept] = number
            kept += 1
    return kept


@kernel
def _write(ids: I32, size: int, unknown: int, known: int, extra: I32, bytes_ids: I32, out: I32, count: int) -> int:
    """Pieces, and for characters without one their bytes, or what is unknown, once for those beside each other."""
    begin = count
    for i in range(size):
        symbol = ids[i]
        if 0 <= symbol < known:
            out[count] = symbol
            count += 1
            continue
        code = extra[symbol - known] if symbol >= known else -2 - symbol
        if bytes_ids.size:
            stop = _utf8(code, out, count)
            for k in range(count, stop):
                out[k] = bytes_ids[out[k]]
            count = stop
        elif count == begin or out[count - 1] != unknown:
            out[count] = unknown
            count += 1
    return count


@kernel
def _merge(ids: I32, size: int, keys: I64, values: I64, links: I32, heap: I64) -> int:
    if size > SHORT:
        return int(_merge_long(ids, size, keys, values, links, heap))
    return int(_merge_short(ids, size, keys, values, heap))


@kernel
def _merge_short(ids: I32, size: int, keys: I64, values: I64, found: I64) -> int:
    """`found` has the value of each symbol with the next one."""
    for i in range(size - 1):
        found[i] = _value(keys, values, ids[i], ids[i + 1])
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
            found[best - 1] = _value(keys, values, ids[best - 1], ids[best])
        if best < size - 1:
            found[best] = _value(keys, values, ids[best], ids[best + 1])
    return size


@kernel
def _merge_long(ids: I32, size: int, keys: I64, values: I64, links: I32, heap: I64) -> int:
    """links: of each symbol the next one and the one before it, and whether it is still there."""
    waiting = 0
    for i in range(size):
        links[i], links[size + i], links[2 * size + i] = i + 1, i - 1, 1
        waiting = _push(ids, i, i + 1, size, keys, values, heap, waiting)
    while waiting:
        item = heap[0]
        waiting = _pop(heap, waiting)
        at = item & HALF
        after = links[at]
        if not links[2 * size + at] or after >= size:
            continue
        value = _value(keys, values, ids[at], ids[after])
        if value >> 32 != item >> 32:
            continue  # one of the two has been merged since
        ids[at] = value & HALF
        links[2 * size + after] = 0
        links[at] = links[after]
        if links[at] < size:
            links[size + links[at]] = at
        if links[size + at] >= 0:
            waiting = _push(ids, links[size + at], at, size, keys, values, heap, waiting)
        waiting = _push(ids, at, links[at], size, keys, values, heap, waiting)
    kept = 0
    for i in range(size):
        if links[2 * size + i]:
            ids[kept] = ids[i]
            kept += 1
    return kept


@kernel
def _push(ids: I32, left: int, right: int, size: int, keys: I64, values: I64, heap: I64, waiting: int) -> int:
    """`rank << 32 | place`, if the two are a pair."""
    value = _value(keys, values, ids[left], ids[right]) if right < size else NEVER
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
def _value(keys: I64, values: I64, left: int, right: int) -> int:
    """NEVER where the two are no pair."""
    if left < 0 or right < 0:
        return NEVER
    key = (int(left) << 32) | int(right)
    at = _place(keys, key)
    return values[at] if keys[at] == key else NEVER


@kernel
def _place(keys: I64, key: int) -> int:
    mixed = (key >> 32) * 2654435761 + (key & HALF) * 668265263
    at = (mixed ^ (mixed >> 23)) & (keys.size - 1)
    while keys[at] != NONE and keys[at] != key:
        at = (at + 1) & (keys.size - 1)
    return at


@kernel
def _find(text: I32, first: int, size: int, blob: I32, starts: I32, slots: I32) -> int:
    """The piece that is text[first : first + size], or NONE."""
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
