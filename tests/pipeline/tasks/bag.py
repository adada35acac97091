"""A small real embedder: a bag of words, each hashed to a direction. It knows no meaning, but it is exact and quick."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")
_DIM = 256


class BagOfWords:
    """Vectors of word counts over hashed words; a token is four letters of a word, or one sign."""

    def __init__(self, context: int = 64) -> None:
        self.context = context

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [2 + sum(-(-len(word) // 4) for word in re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any(tokens > self.context for tokens in self.count_tokens(texts)):
            raise ValueError("a text is too long")
        return np.array([_vector(text) for text in texts], dtype=np.float32).reshape(len(texts), _DIM)


def _vector(text: str) -> list[float]:
    counts = [1e-6] * _DIM
    for word in _WORD.findall(text.lower()):
        counts[int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big") % _DIM] += 1.0
    length = sum(count * count for count in counts) ** 0.5
    return [count / length for count in counts]
