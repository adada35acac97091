"""SentencePiece BPE: again and again the two characters or pieces are merged whose piece has the highest score.

Source: SentencePiece's `bpe_model.cc`, and llama.cpp's `llama-vocab.cpp` for the keys. A space is written U+2581, and
may be put before a text. A character without a piece becomes its bytes (`<0xE2>`); where a vocabulary has none of
these it is unknown, and unknown ones beside each other are one token. A text never becomes a control token: their
names are no pieces.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from itertools import pairwise

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.kernels.text.splits import WORDS
from engine.tokenizer.base import LONE, Span, Template, Tokenizer, pack, unpack, without_halves
from engine.tokenizer.compiled import CODE_POINTS, PairEncoder, Split, classes_of_words, pairs_of_pieces
from engine.tokenizer.metadata import BYTE, USER_DEFINED, Keys, Metadata
from engine.tokenizer.prompts import Specials, fragments, is_white, longest_first

ALGORITHM = "spm-bpe-1"
"""Part of the digest: another reading of the same metadata must not look the same."""

SPACE = "\u2581"

PREFIXES = ("each", "first", "none")
"""Where a space is put: before each text between control tokens; before the first text, if none stands before it."""


@dataclass(frozen=True)
class Vocabulary:
    """Score of each piece and its id; the ids of the 256 bytes, or none; user-defined pieces; the id of what is
    unknown, -1 where every byte has a piece."""

    scores: dict[str, float]
    ids: dict[str, int]
    bytes: tuple[int, ...]
    added: dict[str, int]
    unknown: int


class PiecePairs(Tokenizer):
    """SentencePiece's BPE, as Llama 2, Mistral, Phi-3 and Gemma have it."""

    def __init__(self, vocabulary: Vocabulary, prefix: str, template: Template, specials: Specials) -> None:
        super().__init__(template, lambda: [ALGORITHM, prefix, astuple(template), _facts(vocabulary)], specials)
        self._vocabulary, self._prefix_of = vocabulary, prefix
        self._encode = _encoder(vocabulary)
        self._added = {piece: pack([number]) for piece, number in vocabulary.added.items()}
        self._find = longest_first(self._added)
        self._find_white = longest_first(filter(is_white, self._added))

    def _texts(self) -> Iterator[tuple[int, bytes]]:
        for piece, number in (self._vocabulary.ids | self._vocabulary.added).items():
            yield number, piece.replace(SPACE, " ").encode()
        yield from ((number, bytes((byte,))) for byte, number in enumerate(self._vocabulary.bytes))

    def _body(self, text: str) -> bytes:
        return self._ids(text, self._find, is_first=True)

    def encode_within(self, text: str) -> list[int]:
        return unpack(self._pieces(LONE.sub("", text), self._find_white))

    def _between(self, text: str, *, is_first: bool) -> bytes:
        return self._ids(text, self._find_white, is_first=is_first)

    def _ids(self, text: str, find: re.Pattern[str] | None, *, is_first: bool) -> bytes:
        return self._pieces(self._spaced(LONE.sub("", text), is_first=is_first), find)

    def _pieces(self, spaced: str, find: re.Pattern[str] | None) -> bytes:
        ids = []
        for _, fragment, added in fragments(spaced.replace(" ", SPACE), find):
            ids.append(self._added[fragment] if added else self._encode(fragment))
        return b"".join(ids)

    def _spaced(self, text: str, *, is_first: bool) -> str:
        wanted = self._prefix_of == "each" or (self._prefix_of == "first" and is_first)
        return f" {text}" if wanted and text else text

    def _located(self, text: str) -> Iterator[tuple[int, Span]]:
        """Raises UnsupportedModel where characters may be unknown: such a token may stand for any number of them."""
        if not self._vocabulary.bytes:
            raise UnsupportedModel("tokenizer.ggml.tokens: found no <0x00> to <0xFF>, which places in a text need")
        whole, kept = without_halves(text)
        spaced = self._spaced(whole, is_first=True).replace(SPACE, " ")
        spans = [(0, 0)] * (len(spaced) - len(whole)) + [(at, at + 1) for at in kept]
        of_bytes = [span for c, span in zip(spaced, spans, strict=True) for _ in c.encode()]
        return self._walk(self._pieces(spaced, self._find), of_bytes, text)


def _encoder(vocabulary: Vocabulary) -> Callable[[str], bytes]:
    ids, size = vocabulary.ids, max([*vocabulary.ids.values(), *vocabulary.bytes, vocabulary.unknown]) + 1
    extra = sorted({ord(c) for piece in ids for c in piece if c not in ids})
    symbols = np.full(CODE_POINTS, -1, np.int32)
    symbols[[ord(piece) for piece in ids if len(piece) == 1]] = [
        number for piece, number in ids.items() if len(piece) == 1
    ]
    symbols[extra] = np.arange(size, size + len(extra))
    _, ranks = np.unique([-score for score in vocabulary.scores.values()], return_inverse=True)
    pairs = pairs_of_pieces(ids, ranks.astype(np.int32), symbols)
    return PairEncoder(
        Split(WORDS), classes_of_words(_kept(vocabulary)), pairs, bytes_ids=vocabulary.bytes, symbols=symbols,
        extra=extra, unknown=vocabulary.unknown, size=size,
    ).encode  # fmt: skip


def _kept(vocabulary: Vocabulary) -> list[str]:
    """The characters that stand before a space in some piece; a text may be cut after all others."""
    return sorted({pair[0] for piece in vocabulary.ids for pair in pairwise(piece) if pair[1] == SPACE} - {SPACE})


def from_metadata(metadata: Metadata) -> PiecePairs:
    """The tokenizer that a GGUF file describes. Raises BadModelFile; UnsupportedModel where text is changed first."""
    for key in ("tokenizer.ggml.remove_extra_whitespaces", "tokenizer.ggml.precompiled_charsmap"):
        value = metadata.get(key, False)
        if value is not False and not (isinstance(value, np.ndarray) and not value.size):
            raise UnsupportedModel(f"{key}: found {value!r:.60}, expected none for tokenizer.ggml.model llama")
    keys = Keys(metadata)
    template = keys.template(bos=True, eos=False)
    specials = keys.specials(adds_bos=True)
    return PiecePairs(_read_vocabulary(keys), _read_prefix(keys, specials), template, specials)


def _read_prefix(keys: Keys, specials: Specials) -> str:
    """Mistral's files from version 3 on, which have control tokens for instructions, put it before the text only."""
    if not keys.flag("tokenizer.ggml.add_space_prefix", True):
        return "none"
    return "first" if "[INST]" in specials.control else "each"


def _read_vocabulary(keys: Keys) -> Vocabulary:
    of_bytes = _read_bytes(keys)
    unknown = -1 if of_bytes else keys.id("unknown")
    added = keys.of_type(USER_DEFINED)
    out = keys.ruled_out() | added | set(of_bytes) | {unknown}
    ids = keys.pieces(out)
    scores = keys.scores("tokenizer.ggml.scores")
    extra = {keys.tokens[number].replace(" ", SPACE): number for number in sorted(added) if keys.tokens[number]}
    return Vocabulary({token: scores[number] for token, number in ids.items()}, ids, of_bytes, extra, unknown)


def _read_bytes(keys: Keys) -> tuple[int, ...]:
    """The ids of the 256 byte tokens, or nothing if the file has none. Raises BadModelFile for some of them."""
    known = {token: number for number, token in enumerate(keys.tokens) if token.startswith("<0x")}
    found = [known.get(f"<0x{byte:02X}>", -1) for byte in range(256)]
    kinds = keys.of_type(BYTE)
    if kinds and kinds != set(found):
        raise BadModelFile(f"tokenizer.ggml.token_type: found {len(kinds)} bytes, expected <0x00> to <0xFF>")
    return tuple(found) if -1 not in found else ()


def _facts(vocabulary: Vocabulary) -> list[object]:
    ids, scores = list(vocabulary.ids.items()), list(vocabulary.scores.values())
    return [ids, scores, vocabulary.bytes, list(vocabulary.added.items()), vocabulary.unknown]
