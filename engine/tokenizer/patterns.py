"""How texts are cut before byte pairs are merged: the patterns of `tokenizer.ggml.pre`.

Source: llama.cpp's `llama-vocab.cpp` for the names; the tokenizer.json files of the models for the patterns. Letters
and numbers are tables of this folder, so that ids change neither with Python nor with a package. Patterns are applied
one after another, each to the parts that the one before left, and each covers the whole of a part.
"""

import re
from dataclasses import dataclass

from engine.kernels.text import splits
from engine.tokenizer.compiled import Split
from engine.tokenizer.unicode import classes, tables
from engine.tokenizer.unicode.codepoints import Ranges

_L = Ranges(classes.LETTERS).pattern()
_N = Ranges(classes.NUMBERS).pattern()
_HEADS = Ranges(classes.HEADS).pattern()
_TAILS = Ranges(classes.TAILS).pattern()
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
_BEFORE = rf"[^\r\n{_L}{_N}]?"
_WORDS = rf"{_BEFORE}[{_HEADS}]*[{_TAILS}]+", rf"{_BEFORE}[{_HEADS}]+[{_TAILS}]*"
_OTHERS = rf" ?[^{_S}{_L}{_N}]+[\r\n/]*|[{_S}]*[\r\n]+|[{_S}]+(?![^{_S}])|[{_S}]+"
TEKKEN = rf"{_WORDS[0]}|{_WORDS[1]}|[{_N}]|{_OTHERS}"
GPT4O = rf"{_WORDS[0]}(?:{_ENDINGS})?|{_WORDS[1]}(?:{_ENDINGS})?|[{_N}]{{1,3}}|{_OTHERS}"
DIGITS = rf"[{_N}]|[^{_N}]+"
PUNCTUATION = rf"[{_P}]+|[^{_P}]+"
THREE_DIGITS = r"[0-9]{3}|(?:(?![0-9]{3}).)+"


@dataclass(frozen=True)
class Pre:
    """Patterns; the same as compiled code; form C before them; whether a part that is a piece is taken as it is;
    llama.cpp's habit with BOS."""

    patterns: tuple[str, ...]
    split: Split
    nfc: bool = False
    whole_pieces: bool = False
    adds_bos: bool = False


_GPT2 = Pre((GPT2,), Split(splits.GPT2))
_GPT2_NFC = Pre((GPT2,), Split(splits.GPT2), nfc=True)
_EACH_DIGIT = Pre((DIGITS, GPT2), Split(splits.GPT2, 1))
_LLAMA3 = Pre((LLAMA3,), Split(splits.CASELESS, 3), whole_pieces=True, adds_bos=True)
_QWEN2 = Pre((QWEN2,), Split(splits.CASELESS, 1), nfc=True)
_O200K = Pre((GPT4O,), Split(splits.CASED, 3, endings=True))

PRE = {
    "gpt-2": _GPT2,
    "phi-2": _GPT2,
    "mpt": _GPT2,
    "mellum": _GPT2,
    "a.x-4.0": _GPT2,
    "trillion": _GPT2,
    "granite-docling": _GPT2,
    "roberta-bpe": _GPT2,
    "modern-bert": _GPT2_NFC,
    "olmo": _GPT2_NFC,
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "falcon3": _LLAMA3,
    "pixtral": _LLAMA3,
    "midm-2.0": _LLAMA3,
    "lfm2": _LLAMA3,
    # files made of Llama 3's tokenizer, but without a beginning of text: SmolLM3
    "smaug-bpe": Pre((LLAMA3,), Split(splits.CASELESS, 3), whole_pieces=True),
    # cl100k: Phi-4, Granite 4
    "dbrx": Pre((LLAMA3,), Split(splits.CASELESS, 3)),
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": _QWEN2,
    "megrez": _QWEN2,
    "tekken": Pre((TEKKEN,), Split(splits.CASED, 1), whole_pieces=True, adds_bos=True),
    # o200k: Phi-4 mini
    "gpt-4o": _O200K,
    "llama4": _O200K,
    # Granite 3's files say refact
    "refact": _EACH_DIGIT,
    "starcoder": _EACH_DIGIT,
    "smollm": _EACH_DIGIT,
    "codeshell": _EACH_DIGIT,
    "exaone": _EACH_DIGIT,
    "minerva-7b": _EACH_DIGIT,
    "command-r": Pre((DIGITS, GPT2), Split(splits.GPT2, 1), nfc=True),
    "falcon": Pre((PUNCTUATION, GPT2, THREE_DIGITS), Split(splits.FALCON)),
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
