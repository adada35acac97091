"""Byte-level BPE: a text is cut by patterns into pre-tokens, in which the bytes' pairs are merged in the order of the
merges.

Source: Sennrich et al. 2016, Radford et al. 2019, and the `tokenizers` package (ByteLevel, BPE); llama.cpp's
`llama-vocab.cpp` for the names of patterns and its habits, the tokenizer.json files of the models for the patterns,
which are compiled code (kernels/text/splits.py). A text never becomes a
control token; pieces that a model adds to its vocabulary without control meaning ("user-defined", such as runs of
spaces) are found in it first, the longest first. Bytes that a vocabulary has no piece for are dropped.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from functools import cache, cached_property
from itertools import compress, pairwise
from typing import NoReturn

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.kernels.text import splits
from engine.kernels.text.pairs import Pieces, find_merges
from engine.simd import I32
from engine.tokenizer.base import LONE, Span, Template, Tokenizer, pack, without_halves
from engine.tokenizer.compiled import CODE_POINTS, PairEncoder, Split, classes, code_points, piece_table
from engine.tokenizer.metadata import USER_DEFINED, Keys, Metadata
from engine.tokenizer.prompts import Specials, fragments, is_white, longest_first
from engine.tokenizer.unicode.nfc import aligned, nfc

ALGORITHM = "byte-bpe-1"
"""Part of the digest: another reading of the same metadata must not look the same."""


@dataclass(frozen=True)
class Pre:
    """The cut; form C before it; whether a part that is a piece is taken as it is; llama.cpp's habit with BOS."""

    split: Split
    nfc: bool = False
    whole_pieces: bool = False
    adds_bos: bool = False


_GPT2, _EACH_DIGIT = Split(splits.GPT2), Split(splits.GPT2, 1)
_LLAMA3 = Split(splits.CASELESS, 3)

PRE = {
    name: pre
    for names, pre in {
        "gpt-2 phi-2 mpt mellum a.x-4.0 trillion granite-docling roberta-bpe": Pre(_GPT2),
        "modern-bert olmo": Pre(_GPT2, nfc=True),
        "llama-bpe llama3 llama-v3 falcon3 pixtral midm-2.0 lfm2": Pre(_LLAMA3, whole_pieces=True, adds_bos=True),
        # files made of Llama 3's tokenizer, but without a beginning of text: SmolLM3
        "smaug-bpe": Pre(_LLAMA3, whole_pieces=True),
        # cl100k: Phi-4, Granite 4
        "dbrx": Pre(_LLAMA3),
        "qwen2 deepseek-r1-qwen megrez": Pre(Split(splits.CASELESS, 1), nfc=True),
        "tekken": Pre(Split(splits.CASED, 1), whole_pieces=True, adds_bos=True),
        # o200k: Phi-4 mini
        "gpt-4o llama4": Pre(Split(splits.CASED, 3, endings=True)),
        # Granite 3's files say refact
        "refact starcoder smollm codeshell exaone minerva-7b": Pre(_EACH_DIGIT),
        "command-r": Pre(_EACH_DIGIT, nfc=True),
        "falcon": Pre(Split(splits.FALCON)),
    }.items()
    for name in names.split()
}


def _signs() -> str:
    """The character that stands for each byte: itself where it prints, else one from U+0100 on (GPT-2's table)."""
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in prints else next(others)) for byte in range(256))


SIGNS = _signs()
_BYTES = {ord(sign): byte for byte, sign in enumerate(SIGNS)}
_ONLY_SIGNS = re.compile(f"[{re.escape(SIGNS)}]*").fullmatch


def bytes_of(piece: str) -> bytes:
    """The bytes of a piece in signs; characters that are no signs stand for themselves, as in published
    vocabularies."""
    if _ONLY_SIGNS(piece):
        return piece.translate(_BYTES).encode("latin-1")
    return b"".join([bytes((_BYTES[ord(c)],)) if ord(c) in _BYTES else c.encode() for c in piece])


@dataclass(frozen=True)
class Settings:
    """pre: a key of PRE; nfc: form C first; space: a text gets a space before it unless it begins with one;
    whole_pieces: a pre-token that is a piece is not merged."""

    pre: str
    nfc: bool
    space: bool
    whole_pieces: bool


@cache
def _values() -> I32:
    """int32 [code points]: the byte that each code point stands for; 256 and more where it is no sign."""
    found = np.arange(256, 256 + CODE_POINTS, dtype=np.int32)
    found[[ord(sign) for sign in SIGNS]] = np.arange(256)
    return found


@dataclass(frozen=True)
class Vocabulary:
    """Pieces in signs, user-defined pieces as they stand in texts, and merges ("a b") in their order."""

    pieces: dict[str, int]
    added: dict[str, int]
    merges: list[str]

    @cached_property
    def table(self) -> Pieces:
        """The `piece_table` of the pieces by their bytes; pieces with characters that are no signs equal no bytes."""
        return piece_table(_values()[code_points(self.pieces)], self.pieces)

    @cached_property
    def merged(self) -> tuple[I32, I32, I32]:
        """int32 [merges] each: the ids of a merge's two halves, -1 for none, and of the whole. Raises BadModelFile."""
        codes = code_points(["\n".join(self.merges)])
        is_break = (codes == ord(" ")) | (codes == ord("\n"))
        breaks, count = np.flatnonzero(is_break), len(self.merges)
        found = [np.full(count, -1, np.int32) for _ in range(3)]
        signs = codes[breaks]
        is_even = breaks.size == max(0, 2 * count - 1)
        if is_even and (signs[::2] == ord(" ")).all() and (signs[1::2] == ord("\n")).all() and self.pieces:
            ends = np.concatenate([[0], breaks - np.arange(breaks.size), [codes.size - breaks.size]])
            find_merges(_values()[codes[~is_break]], ends.astype(np.int32), self.table, *found)
        if (found[2] < 0).any():
            self._refuse()
        return found[0], found[1], found[2]

    def _refuse(self) -> NoReturn:
        """Raise BadModelFile, which names the first merge that is none."""
        rank, pair = next(
            (rank, pair)
            for rank, pair in enumerate(self.merges)
            if pair.count(" ") != 1 or pair.replace(" ", "") not in self.pieces
        )
        raise BadModelFile(f"tokenizer.ggml.merges: merge {rank}: found {pair!r:.80}, expected two parts of a piece")


class BytePairs(Tokenizer):
    """A tokenizer that does byte-level BPE."""

    def __init__(self, vocabulary: Vocabulary, settings: Settings, template: Template, specials: Specials) -> None:
        def facts() -> list[object]:
            of_pieces = [list(vocabulary.pieces.items()), list(vocabulary.added.items()), vocabulary.merges]
            return [ALGORITHM, astuple(settings), astuple(template), *of_pieces]

        super().__init__(template, facts, specials)
        self._vocabulary = vocabulary
        self._settings = settings
        self._form = nfc if settings.nfc else str
        self._encode = _encoder(vocabulary, settings)
        self._added = {piece: pack([number]) for piece, number in vocabulary.added.items()}
        self._find = longest_first(self._added)
        self._find_white = longest_first(filter(is_white, self._added))

    @cached_property
    def _known(self) -> set[int]:
        """The bytes that have a piece; others are dropped."""
        return {byte for byte, sign in enumerate(SIGNS) if sign in self._vocabulary.pieces}

    def _texts(self) -> Iterator[tuple[int, bytes]]:
        values, starts, _, numbers = self._vocabulary.table
        if (values < 256).all():
            whole = values.astype(np.uint8).tobytes()
            parts = [whole[a:b] for a, b in pairwise(starts.tolist())]
            yield from zip(numbers.tolist(), parts, strict=True)
        else:
            yield from ((number, bytes_of(piece)) for piece, number in self._vocabulary.pieces.items())
        for piece, number in self._vocabulary.added.items():
            yield number, piece.encode()

    def _body(self, text: str) -> bytes:
        return self._ids(text, self._find)

    def _between(self, text: str, *, is_first: bool) -> bytes:
        return self._ids(text, self._find_white)

    def _ids(self, text: str, find: re.Pattern[str] | None) -> bytes:
        text = LONE.sub("", text)
        ids = []
        for _, fragment, added in fragments(self._form(text), find):
            ids.append(self._added[fragment] if added else self._encode(self._spaced(fragment)))
        return b"".join(ids)

    def _located(self, text: str) -> Iterator[tuple[int, Span]]:
        """A space that was put before a fragment lies nowhere."""
        whole, kept = without_halves(text)
        made = aligned(whole) if self._settings.nfc else [(c, (at, at + 1)) for at, c in enumerate(whole)]
        spans = [(kept[start], kept[end - 1] + 1) for _, (start, end) in made]
        for start, fragment, added in fragments("".join(c for c, _ in made), self._find):
            spaced = fragment if added else self._spaced(fragment)
            within = spans[start : start + len(fragment)]
            within = [(first, first) for first, _ in within[:1]] * (len(spaced) - len(fragment)) + within
            known = range(256) if added else self._known
            of_bytes = [span for c, span in zip(spaced, within, strict=True) for byte in c.encode() if byte in known]
            yield from self._walk(self._added[fragment] if added else self._encode(spaced), of_bytes, text)

    def _spaced(self, text: str) -> str:
        return f" {text}" if self._settings.space and text and text[0] != " " else text


def _encoder(vocabulary: Vocabulary, settings: Settings) -> Callable[[str], bytes]:
    pieces = vocabulary.pieces
    lefts, rights, merged = vocabulary.merged
    ranks, known = np.arange(lefts.size, dtype=np.int32), (lefts >= 0) & (rights >= 0)
    pairs = [column[known] for column in (lefts, rights, ranks, merged)]
    table = vocabulary.table if settings.whole_pieces else None
    bytes_ids = [pieces.get(sign, -1) for sign in SIGNS]
    return PairEncoder(PRE[settings.pre].split, classes(), pairs, bytes_ids=bytes_ids, whole=table).encode


def from_metadata(metadata: Metadata) -> BytePairs:
    """The tokenizer that a GGUF file describes. Raises BadModelFile; UnsupportedModel for unknown patterns."""
    name = metadata.get("tokenizer.ggml.pre")
    if not isinstance(name, str) or name not in PRE:
        raise UnsupportedModel(f"tokenizer.ggml.pre: found {name!r:.60}, expected one of {', '.join(PRE)}")
    pre, keys = PRE[name], Keys(metadata)
    template = keys.template(bos=pre.adds_bos, eos=False)
    specials = keys.specials(adds_bos=pre.adds_bos)
    ours = keys.settings({"nfc": pre.nfc, "whole_pieces": pre.whole_pieces})
    space = keys.flag("tokenizer.ggml.add_space_prefix", False)
    return BytePairs(_read_vocabulary(keys), Settings(name, space=space, **ours), template, specials)


def _read_vocabulary(keys: Keys) -> Vocabulary:
    tokens = keys.tokens
    added = keys.of_type(USER_DEFINED)
    out = keys.ruled_out() | added
    is_piece = [True] * len(tokens)
    for number in out:
        is_piece[number] = False
    pieces = dict(zip(compress(tokens, is_piece), compress(range(len(tokens)), is_piece), strict=True))
    if len(pieces) + len(out) != len(tokens):
        raise BadModelFile("tokenizer.ggml.tokens: found a piece twice")
    extra = {tokens[number]: number for number in sorted(added)}
    if "" in extra or "" in pieces:
        raise BadModelFile("tokenizer.ggml.tokens: found an empty piece")
    merges = keys.metadata.get("tokenizer.ggml.merges")
    if not isinstance(merges, list):
        raise BadModelFile(f"tokenizer.ggml.merges: found {type(merges).__name__}, expected strings")
    vocabulary = Vocabulary(pieces, extra, merges)
    vocabulary.merged  # noqa: B018  # says what is wrong with them
    return vocabulary
