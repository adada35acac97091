"""The greatest logit among those that are allowed, and the logarithm of what all of them weigh, with the same bits on
every machine: blocks of 1024 tokens, in each of them float32 on 16 lanes, the blocks' sums in float64 in order."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu import threads
from engine.kernels.functions import exp
from engine.simd import F32, I32, I64, LANES, Float, Lanes, larger, largest, load_f32, splat, total
from engine.simd.compiled import entry, kernel

U32 = NDArray[np.uint32]
F64 = NDArray[np.float64]

BLOCK = 1024
_MANY = 1 << 21  # logits from which threads are worth their start
WORD = 32
NONE, BROKEN = -1, -2
"""In place of a token: none is allowed; an allowed one has a logit that is not finite."""
_ALL = 0xFFFF
_ZERO, _ONE, _LEAST = np.float32(0), np.float32(1), np.float32(-np.inf)
_ROOT, _LN2 = 2.0**0.5, 0.6931471805599453
_TERMS = 12  # of the series: the next one is below 1e-19


class Chosen(NamedTuple):
    """ids int32: the allowed token of the greatest logit, of equal ones the lowest, or NONE or BROKEN; tops float32:
    its logit; logs float64: ln of the sum of e**(logit - top) over what is allowed."""

    ids: I32
    tops: F32
    logs: F64


def choose(logits: F32, rows: I64, masks: U32, of: I64) -> Chosen:
    """Choose for each of `rows`, of logits [n, vocab], with row of[i] of masks [m, ceil(vocab / 32)], whose bits say
    which tokens are allowed; all of them where of[i] is -1."""
    count, vocab = rows.size, logits.shape[1]
    found = Chosen(np.full(count, NONE, np.int32), np.zeros(count, np.float32), np.zeros(count, np.float64))
    flat, bits = np.ascontiguousarray(logits).reshape(-1), np.ascontiguousarray(masks).reshape(-1)

    def work(part: slice) -> None:
        chosen = Chosen(found.ids[part], found.tops[part], found.logs[part])
        _choose(flat, vocab, rows[part], bits, of[part], chosen, np.zeros(2 * LANES, np.float32))

    parts = min(threads(), count) if count * vocab >= _MANY else 1
    ends = [count * i // parts for i in range(parts + 1)]
    if parts == 1:
        work(slice(0, count))
    else:
        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(work, map(slice, ends, ends[1:])))
    return found


@entry
def _choose(logits: F32, vocab: int, rows: I64, masks: U32, of: I64, chosen: Chosen, room: F32) -> None:
    words = (vocab + WORD - 1) // WORD
    for i in range(rows.size):
        at, mask = rows[i] * vocab, of[i] * words if of[i] >= 0 else -1
        top, block = _top(logits, at, vocab, masks, mask, room)
        if block < 0:
            continue
        weight = np.float64(0)
        for begin in range(0, vocab, BLOCK):
            if not _is_empty(begin, vocab, masks, mask):
                weight += _weight(logits, at, begin, vocab, masks, mask, top, room)
        chosen.tops[i] = top
        if weight != weight:
            chosen.ids[i] = BROKEN
            continue
        chosen.ids[i] = _first(logits, at, block, vocab, masks, mask, top)
        chosen.logs[i] = _ln(weight)


@kernel
def _is_empty(begin: int, vocab: int, masks: U32, mask: int) -> bool:
    """Whether nothing of a block is allowed."""
    if mask < 0:
        return False
    some = np.uint32(0)
    for word in range(begin // WORD, (min(begin + BLOCK, vocab) + WORD - 1) // WORD):
        some |= masks[mask + word]
    return bool(some == 0)


@kernel
def _allowed(token: int, vocab: int, masks: U32, mask: int) -> Any:
    """16 bits, one for each of the tokens from `token` on, a multiple of 16."""
    bits: Any = _ALL
    if mask >= 0:
        bits = (np.int64(masks[mask + token // WORD]) >> (token % WORD)) & _ALL
    if token + LANES > vocab:
        bits &= (1 << (vocab - token)) - 1
    return bits


@kernel
def _fill(logits: F32, at: int, bits: int, other: Float, room: F32) -> None:
    """room[:16] is the logits from `at` where their bit is set, and `other` elsewhere; room[16:] is 1 or 0."""
    for lane in range(LANES):
        is_set = (bits >> lane) & 1
        room[lane] = logits[at + lane] if is_set else other
        room[LANES + lane] = _ONE if is_set else _ZERO


@kernel
def _top(logits: F32, at: int, vocab: int, masks: U32, mask: int, room: F32) -> tuple[Float, int]:
    """The greatest allowed logit, and the first block that has it; -1 for the block if nothing is allowed."""
    top, block = _LEAST, -1
    for begin in range(0, vocab, BLOCK):
        if _is_empty(begin, vocab, masks, mask):
            continue
        lanes, some = splat(_LEAST), False
        for token in range(begin, min(begin + BLOCK, vocab), LANES):
            bits = _allowed(token, vocab, masks, mask)
            if bits == _ALL:
                lanes, some = larger(load_f32(logits, at + token), lanes), True
            elif bits:
                _fill(logits, at + token, bits, _LEAST, room)
                lanes, some = larger(load_f32(room, 0), lanes), True
        if some:
            most = largest(lanes)
            if most > top or block < 0:
                top, block = most, begin
    return top, block


@kernel
def _weight(logits: F32, at: int, begin: int, vocab: int, masks: U32, mask: int, top: Float, room: F32) -> Float:
    """The sum of e**(logit - top) over what is allowed in a block, 16 lanes in order and then the lanes' tree."""
    lanes: Lanes = splat(_ZERO)
    for token in range(begin, min(begin + BLOCK, vocab), LANES):
        bits = _allowed(token, vocab, masks, mask)
        if bits == _ALL:
            lanes = lanes + exp(load_f32(logits, at + token) - top)
        elif bits:
            _fill(logits, at + token, bits, top, room)
            lanes = lanes + exp(load_f32(room, 0) - top) * load_f32(room, LANES)
    return total(lanes)


@kernel
def _first(logits: F32, at: int, begin: int, vocab: int, masks: U32, mask: int, top: Float) -> int:
    """The first allowed token of the logit `top` from `begin` on."""
    for token in range(begin, vocab, LANES):
        bits = _allowed(token, vocab, masks, mask)
        if bits:
            for lane in range(LANES):
                if (bits >> lane) & 1 and logits[at + token + lane] == top:
                    return token + lane
    return BROKEN


@kernel
def _ln(x: float) -> float:
    """The natural logarithm of x >= 1: with x = 2**n * m and m within sqrt(1/2) and sqrt(2) it is n ln 2 + 2 artanh t,
    t = (m - 1) / (m + 1)."""
    n = 0.0
    while x > _ROOT:
        x, n = x / 2.0, n + 1.0
    t = (x - 1.0) / (x + 1.0)
    p = 0.0
    for k in range(_TERMS, -1, -1):
        p = p * (t * t) + 1.0 / (2 * k + 1)
    return n * _LN2 + 2.0 * t * p


LONGEST = 8


@entry
def find(source: I32, ids: I32, size: int) -> tuple[int, int]:
    """The place in `source` after the most of the last LONGEST tokens of ids[:size], of equal ones the last, and how
    many they are. At least one token follows there; 0 and 0 if there is no such place."""
    best, most = 0, 0
    for at in range(source.size - 1, 0, -1):
        same = 0
        while same < LONGEST and same < at and same < size and source[at - 1 - same] == ids[size - 1 - same]:
            same += 1
        if same > most:
            best, most = at, same
            if most == LONGEST:
                break
    return best, most
