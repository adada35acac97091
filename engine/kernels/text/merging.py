"""Pairs of pieces are merged in the order of their ranks.

A table of pairs has two arrays of 2^n places: the key `left << 32 | right`, NONE where the place is free, and the value
`rank << 32 | merged`; a key lies at its hash or after it. `bpe.merge` is the slow truth.
"""

from typing import NamedTuple

from engine.kernels.compiled import kernel
from engine.simd import I32, I64

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
