"""WordPiece: text to token ids, greedily, the longest piece first.

Source: Devlin et al. 2018 and the `tokenizers` package (BertPreTokenizer, WordPiece). A document's text never becomes a
control token: "[SEP]" in a text is a bracket, a word and a bracket. (The `tokenizers` package, as models ship it, looks
for its special tokens in the text first; in everything else the ids are the same.)
"""

import hashlib
import json
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.tokenizer.normalize import Normalizer

ALGORITHM = "wordpiece-1"
"""Part of the digest: another reading of the same metadata must not look the same."""

MAX_WORD_CHARS = 100
"""A longer word is unknown as a whole."""

CACHED_ITEMS = 1 << 16
CACHED_CHARS = 64

# str.split() also splits at these, which the normalizer drops: they hold together what stands around them
_DROPPED_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
_WITHOUT_DROPPED_SPACES = {ord(c): None for c in _DROPPED_SPACES}

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Vocabulary:
    """Pieces that begin a word, pieces that continue one, and the ids of what is put in by rule."""

    starts: dict[str, int]
    continuations: dict[str, int]
    cls: int
    sep: int
    unknown: int


@dataclass(frozen=True)
class Settings:
    """How text is normalized: whether letters are lowered, accents stripped, Chinese characters set apart."""

    lower_case: bool
    strip_accents: bool
    chinese_chars: bool


class Tokenizer:
    """Ids are those of the original tokenizer. One instance may be used by several threads at once."""

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        self.sha256 = _digest(vocabulary, settings)
        self._cls = _pack([vocabulary.cls])
        self._sep = _pack([vocabulary.sep])
        self._chunks = _Chunks(vocabulary, settings)

    def encode(self, text: str) -> Ids:
        """int32 [n], read-only: [CLS], the ids of the text, [SEP]."""
        return np.frombuffer(self._cls + self._body(text) + self._sep, np.int32)

    def encode_many(self, texts: Iterable[str]) -> list[Ids]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def count(self, text: str) -> int:
        """How many ids `encode` gives."""
        return len(self._body(text)) // 4 + 2

    def _body(self, text: str) -> bytes:
        """The ids of a text, int32 each. A chunk between white space never depends on another, so most are known."""
        if any(c in text for c in _DROPPED_SPACES):
            text = text.translate(_WITHOUT_DROPPED_SPACES)
        return b"".join(map(self._chunks.__getitem__, text.split()))


class _Cache(dict[str, bytes]):
    """What was computed, for short keys, up to a number of them; then it starts anew."""

    def __missing__(self, key: str) -> bytes:
        result = self.compute(key)
        if len(key) <= CACHED_CHARS:
            if len(self) >= CACHED_ITEMS:
                self.clear()
            self[key] = result
        return result

    def compute(self, key: str) -> bytes:
        raise NotImplementedError


class _Chunks(_Cache):
    """Text without white space -> ids."""

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        self.normalizer = Normalizer(
            lower_case=settings.lower_case,
            strip_accents=settings.strip_accents,
            chinese_chars=settings.chinese_chars,
        )
        self.ids = _Words(vocabulary)

    def compute(self, key: str) -> bytes:
        return b"".join(map(self.ids.__getitem__, self.normalizer.words(key)))


class _Words(_Cache):
    """Normalized word -> ids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.longest = max(map(len, [*vocabulary.starts, *vocabulary.continuations]), default=1)

    def compute(self, key: str) -> bytes:
        return _pack(self._split(key))

    def _split(self, word: str) -> list[int]:
        """The longest piece that fits, again and again; a word that does not come out is one unknown token."""
        unknown = [self.vocabulary.unknown]
        if len(word) > MAX_WORD_CHARS:
            return unknown
        ids, start, pieces = [], 0, self.vocabulary.starts
        while start < len(word):
            for end in range(min(len(word), start + self.longest), start, -1):
                number = pieces.get(word[start:end])
                if number is not None:
                    break
            else:
                return unknown
            ids.append(number)
            start, pieces = end, self.vocabulary.continuations
        return ids


def _pack(ids: list[int]) -> bytes:
    return array("i", ids).tobytes()


def _digest(vocabulary: Vocabulary, settings: Settings) -> str:
    """sha256 over a JSON text of everything that determines ids."""
    facts = [
        ALGORITHM,
        [settings.lower_case, settings.strip_accents, settings.chinese_chars],
        [vocabulary.cls, vocabulary.sep, vocabulary.unknown],
        list(vocabulary.starts.items()),
        list(vocabulary.continuations.items()),
    ]
    return hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()
