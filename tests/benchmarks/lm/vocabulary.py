"""Generated vocabularies of the size and kind of published ones, which Cloister and llama.cpp read in the same way.

Words are made of syllables. Each beginning of a word that follows a space is a piece, so a word of the vocabulary is
one token, as the words of a text mostly are for a trained one. Then come the marks of JSON and the words of FIELDS
without a space, whose merges rank last, so that they touch no word.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.tokenizer.bpe import SIGNS

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
FIELDS = (
    '{"', '":"', '","', '":', ',"', '"}', "kind", "party", "date", "total", "urgent", "summary", "lease", "invoice",
    "letter", "report", "order", "true", "false",
)  # fmt: skip
CONTROLS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
SPACE = {"gpt2": "\u0120", "llama": "\u2581"}
_FIRST, _THEN = "bcdfghjklmnprstvwz", "aeiou"
_LETTERS = (2, 3, 4)  # syllables of a word


def words(seed: int = 0) -> Iterator[str]:
    """Without end, some of them twice."""
    random = np.random.default_rng(seed)
    syllables = [a + b + c for a in _FIRST for b in _THEN for c in ("", "n", "r", "s")]
    while True:
        for count in random.choice(_LETTERS, 256):
            yield "".join(syllables[i] for i in random.integers(len(syllables), size=count))


def chains(space: str, room: int) -> dict[str, tuple[str, str]]:
    """Pieces of words, each with the two that it is merged of: `room` of them, those of FIELDS last."""
    last = {text[:i]: (text[: i - 1], text[i - 1]) for text in FIELDS for i in range(2, len(text) + 1)}
    found: dict[str, tuple[str, str]] = {}
    for word in words():
        for i in range(1, len(word) + 1):
            found.setdefault(space + word[:i], (space + word[: i - 1], word[i - 1]))
            if len(found) == room - len(last):
                return found | last
    raise AssertionError


def known(size: int, most: int) -> list[str]:
    """Words that are one token each in a vocabulary of this size, no more than `most`."""
    pieces = chains(" ", size // 2)
    found: dict[str, None] = {}
    for word in words():
        if f" {word}" not in pieces or len(found) == most:
            return list(found)
        found[word] = None
    raise AssertionError


def metadata(kind: str, size: int) -> dict[str, Any]:
    """The keys of the tokenizer, of a kind in `Shape.tokens`."""
    return _sentence_pieces(size) if kind == "llama" else _byte_pairs(kind, size)


def _byte_pairs(pre: str, size: int) -> dict[str, Any]:
    made = chains(SPACE["gpt2"], size - len(SIGNS) - len(CONTROLS))
    tokens = [*SIGNS, *made, *CONTROLS]
    kinds = [NORMAL] * (size - len(CONTROLS)) + [CONTROL] * len(CONTROLS)
    return _keys("gpt2", tokens, kinds) | {
        "tokenizer.ggml.pre": pre, "tokenizer.ggml.merges": [" ".join(parts) for parts in made.values()],
        "tokenizer.ggml.bos_token_id": size - 3, "tokenizer.ggml.add_bos_token": pre == "llama-bpe",
    }  # fmt: skip


def _sentence_pieces(size: int) -> dict[str, Any]:
    """The longer a piece of a word the sooner it is made, and what has no space before it last."""
    letters = sorted({c for text in (*FIELDS, _FIRST, _THEN) for c in text} | {SPACE["llama"]})
    head = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    made = list(chains(SPACE["llama"], size - len(head) - len(letters) - len(CONTROLS)))
    tokens = [*head, *made, *letters, *CONTROLS]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * (len(made) + len(letters)), *[CONTROL] * 3]
    scores = np.zeros(size, np.float32)
    scores[len(head) : -len(CONTROLS)] = -np.arange(len(made) + len(letters))
    return _keys("llama", tokens, kinds) | {
        "tokenizer.ggml.scores": scores, "tokenizer.ggml.unknown_token_id": 0, "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
    }  # fmt: skip


def _keys(model: str, tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    return {
        "tokenizer.ggml.model": model, "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": np.array(kinds, np.int32), "tokenizer.ggml.eos_token_id": len(tokens) - 1,
    }  # fmt: skip
