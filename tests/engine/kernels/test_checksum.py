"""The checksum of what is kept on the disk: its definition in numpy, and what it notices."""

import numpy as np
import pytest

from engine.models.stored import FACTOR, LINE, checksum
from engine.simd import I32

RANDOM = np.random.default_rng(8)


def lanes(words: I32, start: int = 0, end: int | None = None) -> list[int]:
    out, words = np.zeros(LINE, np.int32), words[:]
    words.flags.writeable = False  # as a mapped file is
    checksum(words, start, words.size if end is None else end, out)
    return out.tolist()


def by_definition(words: I32) -> list[int]:
    found = [1] * LINE
    for line in words.reshape(-1, LINE).tolist():
        found = [(lane * FACTOR + word) % 2**32 for lane, word in zip(found, line, strict=True)]
    return np.array(found, np.uint32).view(np.int32).tolist()


def random_words(lines: int) -> I32:
    return RANDOM.integers(-(2**31), 2**31, lines * LINE).astype(np.int32)


@pytest.mark.parametrize("lines", [0, 1, 2, 33])
def test_definition(lines: int) -> None:
    words = random_words(lines)
    assert lanes(words) == by_definition(words)
    more = np.concatenate([random_words(1), words, random_words(1)])
    assert lanes(more, LINE, LINE + words.size) == by_definition(words)


def test_every_bit_is_noticed() -> None:
    words = random_words(4)
    good = lanes(words)
    for at in range(0, words.size, 7):
        for bit in (0, 13, 31):
            words[at] ^= np.array(1 << bit, np.uint32).view(np.int32)
            assert lanes(words) != good
            words[at] ^= np.array(1 << bit, np.uint32).view(np.int32)
    assert lanes(words) == good


def test_what_changed_places_or_was_lost_is_noticed() -> None:
    words = random_words(64)
    seen = [lanes(words)]
    for size in (LINE, 128, 1024):  # a line, half a kilobyte, a page
        changed = words.copy()
        changed[:size], changed[-size:] = words[-size:], words[:size]
        seen.append(lanes(changed))
        seen.append(lanes(np.concatenate([np.zeros(size, np.int32), words[size:]])))
        seen.append(lanes(np.concatenate([words[size:], words[:size]])))
    assert len({tuple(found) for found in seen}) == len(seen)
    assert lanes(np.zeros(LINE, np.int32)) != lanes(np.zeros(2 * LINE, np.int32))
