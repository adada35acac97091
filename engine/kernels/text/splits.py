"""Where the parts of a text end before pairs are merged, for the names of `PRE` in engine/tokenizer/bpe.py.

The published patterns are the truth, and a test compares. A family of them is one function; what a code point is comes
from a table, one byte each. `at` is where a part begins, `end` where the text does.
"""

from engine.kernels.compiled import kernel
from engine.simd import I8, I32

LETTER, NUMBER, SPACE, HEAD, TAIL, KEPT, PUNCTUATION = 1, 2, 4, 8, 16, 32, 64
"""Bits of a code point's class. HEAD and TAIL are those of unicode/classes; after what is KEPT, a space is inside."""

GPT2, CASELESS, CASED, WORDS, FALCON = 0, 1, 2, 3, 4
"""Families: GPT-2; Llama 3, Qwen 2; tekken, o200k; SentencePiece, whose parts begin with U+2581; Falcon."""

WORD_START = 0x2581


@kernel
def segment_end(codes: I32, at: int, end: int, classes: I8, family: int, digits: int) -> int:
    """Where the text that a pattern sees as a whole ends: before GPT-2's, numbers may be set apart one by one (digits),
    or punctuation in runs."""
    kind = PUNCTUATION if family == FALCON else NUMBER
    if not (family == FALCON or (family == GPT2 and digits)):
        return end
    inside = classes[codes[at]] & kind
    stop = at + 1
    while stop < end and classes[codes[stop]] & kind == inside and not (inside and kind == NUMBER):
        stop += 1
    return stop


@kernel
def part_end(codes: I32, at: int, end: int, classes: I8, family: int, digits: int, endings: int) -> int:
    """`end`: that of the segment. digits: the most in a part, 0 for any number; endings: whether 's and the like end a
    word of CASED."""
    if family == WORDS:
        return int(_word_end(codes, at, end, classes))
    if family == GPT2:
        return int(_gpt2_end(codes, at, end, classes))
    if family == FALCON:
        return int(_threes_end(codes, at, _gpt2_end(codes, at, end, classes)))
    if family == CASELESS:
        stop = at + _ending(codes, at, end, 1)
        if stop == at:
            stop = _caseless_end(codes, at, end, classes)
    else:
        stop = _cased_end(codes, at, end, classes)
        if stop > at and endings:
            stop += _ending(codes, stop, end, 1)
    if stop > at:
        return int(stop)
    if classes[codes[at]] & NUMBER:
        return int(_run(codes, at, min(end, at + digits) if digits else end, classes, NUMBER))
    return int(_rest_end(codes, at, end, classes, family == CASED))


@kernel
def _word_end(codes: I32, at: int, end: int, classes: I8) -> int:
    stop = at
    while stop < end and codes[stop] == WORD_START:
        stop += 1
    while stop < end and (
        codes[stop] != WORD_START or codes[stop - 1] == WORD_START or classes[codes[stop - 1]] & KEPT
    ):
        inside = codes[stop] == WORD_START
        stop += 1
        while inside and stop < end and codes[stop] == WORD_START:
            stop += 1
    return stop


@kernel
def _gpt2_end(codes: I32, at: int, end: int, classes: I8) -> int:
    stop = at + _ending(codes, at, end, 0)
    if stop > at:
        return int(stop)
    first = at + 1 if codes[at] == 32 and at + 1 < end else at
    kind = classes[codes[first]] & (LETTER | NUMBER | SPACE)
    if kind != SPACE:
        stop = first
        while stop < end and classes[codes[stop]] & (LETTER | NUMBER | SPACE) == kind:
            stop += 1
        return stop
    return int(_spaces_end(codes, at, end, classes))


@kernel
def _threes_end(codes: I32, at: int, end: int) -> int:
    """`[0-9]{3}|(?:(?![0-9]{3}).)+` in a part that ends there."""
    digits, last = 0, at
    while last < end and digits < 3:
        digits = digits + 1 if 48 <= codes[last] <= 57 else 0
        last += 1
    return last if digits < 3 or last == at + 3 else last - 3


@kernel
def _caseless_end(codes: I32, at: int, end: int, classes: I8) -> int:
    """`[^\\r\\n{L}{N}]?{L}+`; at where it does not match."""
    first = at if classes[codes[at]] & LETTER else at + 1
    if first > at and not _is_before(codes[at], classes):
        return at
    stop = _run(codes, first, end, classes, LETTER)
    return stop if stop > first else at


@kernel
def _cased_end(codes: I32, at: int, end: int, classes: I8) -> int:
    """`B?{HEAD}*{TAIL}+|B?{HEAD}+{TAIL}*` with B = `[^\\r\\n{L}{N}]`; at where it does not match."""
    before = _is_before(codes[at], classes)
    for first in range(at + before, at - 1, -1):
        heads = _run(codes, first, end, classes, HEAD)
        stop = _run(codes, heads, end, classes, TAIL)
        if stop > heads:
            return int(stop)
        for last in range(heads - 1, first - 1, -1):
            if classes[codes[last]] & TAIL:
                return last + 1
    for first in range(at + before, at - 1, -1):
        heads = _run(codes, first, end, classes, HEAD)
        if heads > first:
            return int(_run(codes, heads, end, classes, TAIL))
    return at


@kernel
def _rest_end(codes: I32, at: int, end: int, classes: I8, slashes: int) -> int:
    """` ?[^{S}{L}{N}]+[\\r\\n]*|{S}*[\\r\\n]+|{S}+(?!{S})|{S}+`, the first with slashes at its end too."""
    first = at + 1 if codes[at] == 32 and at + 1 < end else at
    stop = first
    while stop < end and not classes[codes[stop]] & (LETTER | NUMBER | SPACE):
        stop += 1
    if stop > first:
        while stop < end and (codes[stop] == 10 or codes[stop] == 13 or (slashes and codes[stop] == 47)):
            stop += 1
        return stop
    stop = _run(codes, at, end, classes, SPACE)
    for last in range(stop - 1, at - 1, -1):
        if codes[last] == 10 or codes[last] == 13:
            return last + 1
    return int(_spaces_end(codes, at, end, classes))


@kernel
def _spaces_end(codes: I32, at: int, end: int, classes: I8) -> int:
    """`{S}+(?![^{S}])|{S}+`: without the last one where something follows."""
    stop = _run(codes, at, end, classes, SPACE)
    return int(stop - 1 if stop < end and stop - at > 1 else stop)


@kernel
def _run(codes: I32, at: int, end: int, classes: I8, kind: int) -> int:
    while at < end and classes[codes[at]] & kind:
        at += 1
    return at


@kernel
def _is_before(code: int, classes: I8) -> int:
    return 0 if code == 10 or code == 13 or classes[code] & (LETTER | NUMBER) else 1


@kernel
def _ending(codes: I32, at: int, end: int, any_case: int) -> int:
    """The length of 's 't 're 've 'm 'll 'd; 0 where there is none. Where case does not matter U+017F is an s."""
    if at + 1 >= end or codes[at] != 39:
        return 0
    first = _small(codes[at + 1], any_case)
    if first == 115 or first == 116 or first == 109 or first == 100:
        return 2
    second = _small(codes[at + 2], any_case) if at + 2 < end else 0
    return 3 if (second == 101 and (first == 114 or first == 118)) or (first == 108 and second == 108) else 0


@kernel
def _small(code: int, any_case: int) -> int:
    if not any_case:
        return code
    return code + 32 if 65 <= code <= 90 else 115 if code == 0x17F else code
