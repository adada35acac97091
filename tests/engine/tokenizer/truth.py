"""What compiled tokenization has to give: the published patterns as the `tokenizers` package reads them, and merges by
their definition."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tokenizers import Regex, normalizers, pre_tokenizers

from engine.tokenizer.bpe import PRE, SIGNS, BytePairs
from engine.tokenizer.spm import SPACE, PiecePairs

ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
HEADS, TAILS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SPACES_LAST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = rf"{ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES_LAST}"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{HEADS}*{TAILS}+{ENDINGS}?|[^\r\n\p{{L}}\p{{N}}]?{HEADS}+{TAILS}*{ENDINGS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES_LAST}"
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PUBLISHED = {
    "llama-bpe": [LLAMA3],
    "smaug-bpe": [LLAMA3],
    "dbrx": [LLAMA3],
    "qwen2": [LLAMA3.replace("{1,3}", "")],
    "tekken": [O200K.replace(f"{ENDINGS}?", "").replace("{1,3}", "")],
    "gpt-4o": [O200K],
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "refact": [r"\p{N}", GPT2],
    "falcon": [GPT2, "[0-9][0-9][0-9]"],
}
_OF_SPLIT = {PRE[name].split: name for name in PUBLISHED}


def cutter(name: str) -> Any:
    """The package's pre-tokenizer for a name of PRE, without bytes."""
    known = _OF_SPLIT[PRE[name].split]
    before = [pre_tokenizers.Punctuation("contiguous")] if known == "falcon" else []
    return pre_tokenizers.Sequence(
        [*before, *(pre_tokenizers.Split(Regex(each), "isolated") for each in PUBLISHED[known])]
    )


def merge(text: str, ranks: Mapping[str, float], glue: str = " ") -> list[str]:
    """By definition: look at all pairs, merge the first of the lowest rank, again."""
    pieces, none = list(text), float("inf")
    while True:
        pairs = [(ranks.get(f"{a}{glue}{b}", none), at) for at, (a, b) in enumerate(pairwise(pieces))]
        if not pairs or min(pairs)[0] == none:
            return pieces
        at = min(pairs)[1]
        pieces[at : at + 2] = ["".join(pieces[at : at + 2])]


def plain(tokenizer: BytePairs | PiecePairs, text: str) -> list[int]:
    """The ids of a text without lone surrogates, of a vocabulary without user-defined pieces."""
    body = _of_pieces(tokenizer, text) if isinstance(tokenizer, PiecePairs) else _of_bytes(tokenizer, text)
    return [*tokenizer.template.prefix, *body, *tokenizer.template.suffix]


def _of_bytes(tokenizer: BytePairs, text: str) -> list[int]:
    vocabulary, settings, found = tokenizer._vocabulary, tokenizer._settings, []
    ranks = {pair: rank for rank, pair in enumerate(vocabulary.merges)}
    if settings.nfc:
        text = normalizers.NFC().normalize_str(text)
    for part, _ in cutter(settings.pre).pre_tokenize_str(text):
        signs = "".join([SIGNS[byte] for byte in part.encode() if SIGNS[byte] in vocabulary.pieces])
        whole = settings.whole_pieces and signs in vocabulary.pieces
        found += [vocabulary.pieces[piece] for piece in ([signs] if whole else merge(signs, ranks))]
    return found


def _of_pieces(tokenizer: PiecePairs, text: str) -> list[int]:
    vocabulary, found = tokenizer._vocabulary, []
    ranks = {piece: -score for piece, score in vocabulary.scores.items() if len(piece) > 1}
    for piece in merge(tokenizer._spaced(text, is_first=True).replace(" ", SPACE), ranks, ""):
        known = piece in vocabulary.ids
        found += [vocabulary.ids[piece]] if known else [vocabulary.bytes[byte] for byte in piece.encode()]
    return found
