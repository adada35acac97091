"""A small vocabulary as byte-level tokenizers have it: all bytes, pieces of several bytes, control tokens, two ends."""

from collections.abc import Sequence

WORDS = r""" "} "] ":" ", "," ":{" {" "},{" ":[ ":["  "," null true false 12 2024 000 00000000 -0 .5 1. 0.
Invoice Total total EUR \n \\ \" \u \u00 aaaa aaaaaaaaaaaaaaaa é ü 中文 中 😀"""
PIECES = [
    *WORDS.split(),
    *(f"{a}{b}" for a in "abcdeEITnots \n" for b in 'aeiou ":,0'),
    *[" Total", " total", "  ", "        ", "\n\n", "\t", "```json", " the", "</s>", "<|im_end|>"],
]
BYTES = [bytes([i]) for i in range(256)]
# Twice the same bytes, as where a vocabulary has byte tokens beside its pieces.
TOKENS: list[bytes] = [b"", b"", b"", *BYTES, *dict.fromkeys(p.encode() for p in PIECES), b"A", b""]
END_IDS = (1, len(TOKENS) - 1)
CONTROL_IDS = [i for i, token in enumerate(TOKENS) if not token and i not in END_IDS]
LONGEST = max(map(len, TOKENS))
ID_OF = {token: i for i, token in enumerate(TOKENS) if token}


def encode(text: str) -> list[int]:
    """The longest token at each place."""
    data, ids, at = text.encode(), [], 0
    while at < len(data):
        length = next(n for n in range(min(LONGEST, len(data) - at), 0, -1) if data[at : at + n] in ID_OF)
        ids.append(ID_OF[data[at : at + length]])
        at += length
    return ids


def text_of(ids: Sequence[int]) -> str:
    return b"".join(TOKENS[i] for i in ids).decode()
