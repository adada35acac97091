"""Digests of the texts that were learned from, so that who measures can tell whether a document was among them.

Texts are compared by their words, without case and punctuation. A whole text is told by a digest. What stands inside
another text is told by fingerprints of runs of words: of every RUN - WORDS + 1 groups of WORDS words that follow one
another, the one with the least hash is kept ("winnowing": Schleimer, Wilkerson and Aiken 2003, Local algorithms for
document fingerprinting). All fingerprints of a text are among those of any text in which it stands whole.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from pipeline.heads import HeadFile

Hashes = NDArray[np.uint64]
WORDS: Final = 10  # of a fingerprint
RUN: Final = 30  # words that stand in two texts have a fingerprint in common, whatever is around them
_DIGITS: Final = 16  # of a digest
_BASE: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word is multiplied away
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """The words of a text, as texts are compared."""
    return _WORD.findall(text.casefold())


def text_digest(words: Sequence[str]) -> str:
    """The first 16 hexadecimal digits of the sha256 of the words with one blank between two."""
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:_DIGITS]


def fingerprints(words: Sequence[str]) -> Hashes:
    """uint64, ascending, each once; none for fewer words than RUN."""
    if len(words) < RUN:
        return np.zeros(0, np.uint64)
    known = {word: int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little") for word in words}
    hashes = np.array([known[word] for word in words], np.uint64)
    count = len(words) - WORDS + 1
    groups = np.zeros(count, np.uint64)
    for offset in range(WORDS):  # wraps at 2**64
        groups = groups * _BASE + hashes[offset : offset + count]
    return np.unique(np.lib.stride_tricks.sliding_window_view(groups, RUN - WORDS + 1).min(1))


@dataclass(frozen=True)
class Seen:
    """Texts by their digests, sorted; `windows` are the fingerprints of each text that has some, one after another in
    the order of the digests, of which the first text has `sizes[0]`."""

    texts: tuple[str, ...]
    windows: Hashes
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """The digests and fingerprints of texts."""
        found = {text_digest(words): fingerprints(words) for words in map(words_of, texts)}
        kept = [found[digest] for digest in sorted(found) if found[digest].size]
        windows = np.concatenate([np.zeros(0, np.uint64), *kept])
        return cls(tuple(sorted(found)), windows, np.array([one.size for one in kept], np.int64))

    @classmethod
    def of_head(cls, head: HeadFile) -> Self | None:
        """The texts that a head was learned from; None if its file does not tell: earlier versions did not."""
        facts, arrays = head.facts, head.arrays
        if "texts" not in facts or not {"seen_windows", "seen_sizes"} <= arrays.keys():
            return None
        windows = np.frombuffer(arrays["seen_windows"].tobytes(), "<u8").astype(np.uint64)
        sizes = np.frombuffer(arrays["seen_sizes"].tobytes(), "<u4").astype(np.int64)
        return cls(tuple(map(str, facts["texts"])), windows, sizes)

    def facts(self) -> dict[str, Any]:
        """The facts that a head's file has of them."""
        return {"texts": list(self.texts)}

    def arrays(self) -> dict[str, NDArray[np.uint8]]:
        """The arrays that a head's file has of them: little-endian bytes."""
        windows = np.frombuffer(self.windows.astype("<u8").tobytes(), np.uint8).reshape(-1, 8)
        sizes = np.frombuffer(self.sizes.astype("<u4").tobytes(), np.uint8).reshape(-1, 4)
        return {"seen_windows": windows, "seen_sizes": sizes}
