"""How texts are cut before byte pairs are merged: the patterns of `tokenizer.ggml.pre`.

Source: llama.cpp's `llama-vocab.cpp` for the names; the tokenizer.json files of the models for the patterns. Letters
and numbers are tables of this folder, so that ids change neither with Python nor with a package. Patterns are applied
one after another, each to the parts that the one before left, and each covers the whole of a part.
"""

import re
from dataclasses import dataclass

from engine.tokenizer import unicode_classes as classes
from engine.tokenizer import unicode_tables as tables
from engine.tokenizer.codepoints import Ranges

_L = Ranges(classes.LETTERS).pattern()
_N = Ranges(classes.NUMBERS).pattern()
_S = Ranges(classes.WHITE_SPACE).pattern()
_P = Ranges(tables.PUNCTUATION).pattern()

# U+017F is an s where case does not matter
_ENDINGS = r"'(?:[sS\u017f]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"

GPT2 = rf"'(?:[stmd]|re|ve|ll)| ?[{_L}]+| ?[{_N}]+| ?[^{_S}{_L}{_N}]+|[{_S}]+(?![^{_S}])|[{_S}]+"
LLAMA3 = (
    rf"{_ENDINGS}|[^\r\n{_L}{_N}]?[{_L}]+|[{_N}]{{1,3}}| ?[^{_S}{_L}{_N}]+[\r\n]*"
    rf"|[{_S}]*[\r\n]+|[{_S}]+(?![^{_S}])|[{_S}]+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
PUNCTUATION = rf"[{_P}]+|[^{_P}]+"
THREE_DIGITS = r"[0-9]{3}|(?:(?![0-9]{3}).)+"


@dataclass(frozen=True)
class Pre:
    """Patterns; form C before them; whether a part that is a piece is taken as it is; llama.cpp's habit with BOS."""

    patterns: tuple[str, ...]
    nfc: bool = False
    whole_pieces: bool = False
    adds_bos: bool = False


PRE = {
    "gpt-2": Pre((GPT2,)),
    "roberta-bpe": Pre((GPT2,)),
    "modern-bert": Pre((GPT2,), nfc=True),
    "llama-bpe": Pre((LLAMA3,), whole_pieces=True, adds_bos=True),
    "qwen2": Pre((QWEN2,), nfc=True),
    "falcon": Pre((PUNCTUATION, GPT2, THREE_DIGITS)),
}


class Splitter:
    """A text to parts, which together are the text."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = [re.compile(pattern, re.DOTALL) for pattern in patterns]

    def split(self, text: str) -> list[str]:
        parts = [text] if text else []
        for pattern in self._patterns:
            parts = [found for part in parts for found in pattern.findall(part)]
        return parts
