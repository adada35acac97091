"""Unigram pieces (SentencePiece): of all ways to write a word in pieces, the one with the highest sum of scores.

Source: Kudo 2018, and the `tokenizers` package (Precompiled, Metaspace, Unigram). A word begins with U+2581 instead of
the white space before it. A character without a piece is unknown, and unknown ones beside each other are one token. A
text never becomes a control token: their names are no pieces.
"""

import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.tokenizer.base import LONE, Span, Template, Tokenizer, pack, trim, without_halves
from engine.tokenizer.metadata import Keys, Metadata
from engine.tokenizer.prompts import Specials
from engine.tokenizer.unicode import classes
from engine.tokenizer.unicode.codepoints import Cache, Ranges

ALGORITHM = "unigram-1"
"""Part of the digest: another reading of the same metadata must not look the same."""

WORD_START = "\u2581"
UNKNOWN_PENALTY = 10.0
"""Below the lowest score."""

_S = Ranges(classes.WHITE_SPACE).pattern()

WHITE_SPACE_WAYS = {"split": rf"[^{_S}]+", "keep": r".+", "strip": rf"\A.*[^{_S}]"}
"""Pattern of what is read as one: the words between any white space; the whole text, where several spaces are one and
other white space is a character; the same without white space at its end."""


NO_CHANGES = b"\4\0\0\0" + bytes(4)
"""A map of nothing."""

MAX_GRAPHEME_BYTES = 5
MAX_REPLACEMENT_BYTES = 256
"""The longest that is published has some 30."""

_LEAF = 1 << 8
_WIDE = 1 << 9
_VALUE = (1 << 31) - 1
_LABEL = 1 << 31 | 0xFF

_JOINED, _JOINING, _APART = (Ranges(text).pattern() for text in (classes.JOINED, classes.JOINING, classes.APART))
_GRAPHEME = re.compile(rf"\r\n|[{_JOINING}]+[^{_APART}\n\r\0][{_JOINED}]*|[^{_APART}\n\r\0][{_JOINED}]+")
"""Graphemes of more than one character (Unicode Standard Annex #29), as far as they can have less than six bytes."""


class CharsMap:
    """SentencePiece's precompiled character map: which characters a text is written in before it is cut into pieces.

    Source of the format: SentencePiece's `normalizer.cc` and darts-clone: the length of a double-array trie in bytes,
    its units (32 bits, little endian), then the replacements as UTF-8, each ended by a zero byte. Source of what is
    done with it: the `tokenizers` package, which looks up a grapheme of less than six bytes as a whole (and then
    replaces it by what its shortest beginning in the trie maps to), and all else character by character. SentencePiece
    itself takes the longest entry at each place; models are used with the former. One instance may be used by several
    threads at once."""

    def __init__(self, blob: bytes) -> None:
        """Read the map. Raises BadModelFile where a length does not fit."""
        size = int.from_bytes(blob[:4], "little")
        if len(blob) < 8 or size % 4 or not 4 <= size <= len(blob) - 4:
            found = f"{len(blob)} bytes with a trie of {size}"
            raise BadModelFile(f"tokenizer.ggml.precompiled_charsmap: found {found}, expected the trie to fit")
        self._units = np.frombuffer(blob, "<u4", size // 4, 4).tolist()
        self._pool = blob[4 + size :]
        self._characters = Cache(self._replace)

    def normalize(self, text: str) -> str:
        """The text without halves of characters (lone surrogates), replaced."""
        text, at, parts = LONE.sub("", text), 0, []
        for start, end, result in self._graphemes(text):
            parts += [text[at:start].translate(self._characters), result]
            at = end
        return "".join([*parts, text[at:].translate(self._characters)])

    def aligned(self, text: str) -> list[tuple[str, Span]]:
        """Each character of `normalize(text)` with the span of the text it comes from."""
        text, kept = without_halves(text)
        spans, at = [], 0
        for start, end, result in [*self._graphemes(text), (len(text), len(text), "")]:
            spans += [(i, i + 1, self._characters[ord(text[i])]) for i in range(at, start)] + [(start, end, result)]
            at = end
        return [(c, (kept[start], kept[end - 1] + 1)) for start, end, result in spans for c in result]

    def lookup(self, key: str) -> str | None:
        """The replacement of the shortest beginning of the key that is in the trie; None where there is none."""
        at = _offset(self._units[0])
        for byte in key.encode():
            at ^= byte
            if not byte or at >= len(self._units) or self._units[at] & _LABEL != byte:
                return None
            unit = self._units[at]
            at ^= _offset(unit)
            if unit & _LEAF:
                start = self._units[at] & _VALUE if at < len(self._units) else len(self._pool)
                found = self._pool[start : start + MAX_REPLACEMENT_BYTES]
                return found.partition(b"\0")[0].decode(errors="replace")
        return None

    def _replace(self, number: int) -> str:
        found = self.lookup(chr(number))
        return chr(number) if found is None else found

    def _graphemes(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Finds graphemes that are replaced as a whole: start, end, replacement."""
        for match in _GRAPHEME.finditer(text):
            if len(match[0].encode()) <= MAX_GRAPHEME_BYTES and (result := self.lookup(match[0])) is not None:
                yield *match.span(), result


@dataclass(frozen=True)
class Vocabulary:
    """Score of each piece and its id; the id of what is unknown; the character map, which may be empty."""

    scores: dict[str, float]
    ids: dict[str, int]
    unknown: int
    charsmap: bytes


class Unigram(Tokenizer):
    """SentencePiece's unigram model, as XLM-RoBERTa has it."""

    def __init__(self, vocabulary: Vocabulary, white_space: str, template: Template, specials: Specials) -> None:

        def facts() -> list[object]:
            of_pieces = [list(vocabulary.ids.items()), list(vocabulary.scores.values()), vocabulary.unknown]
            return [ALGORITHM, white_space, astuple(template), *of_pieces, vocabulary.charsmap.hex()]

        super().__init__(template, facts, specials)
        self._ids = vocabulary.ids
        self._map = CharsMap(vocabulary.charsmap or NO_CHANGES)
        self._scores, self._unknown = vocabulary.scores, vocabulary.unknown
        self._unknown_score = min(vocabulary.scores.values(), default=0.0) - UNKNOWN_PENALTY
        self._longest: dict[str, int] = {}
        for piece in vocabulary.scores:
            self._longest[piece[0]] = max(len(piece), self._longest.get(piece[0], 1))
        self._words = Cache[str, bytes](lambda word: pack([number for number, _ in self._best(word)]))
        self._chunk = re.compile(WHITE_SPACE_WAYS[white_space], re.DOTALL)

    def _texts(self) -> Iterator[tuple[int, bytes]]:
        for piece, number in self._ids.items():
            yield number, piece.replace(WORD_START, " ").encode()

    def _body(self, text: str) -> bytes:
        chunks = self._chunk.findall(self._map.normalize(text))
        return b"".join([self._words[word] for chunk in chunks for word in _cut(_SPACES.sub(WORD_START, chunk))])

    def _located(self, text: str) -> Iterator[tuple[int, Span]]:
        aligned = self._map.aligned(text)
        for chunk in self._chunk.finditer("".join(c for c, _ in aligned)):
            read = [match.span() for match in _READ.finditer(chunk[0])]
            spans = [(aligned[chunk.start() + i][1][0], aligned[chunk.start() + j - 1][1][1]) for i, j in read]
            words = _cut(_SPACES.sub(WORD_START, chunk[0]))
            spans = [(spans[0][0], spans[0][0])] * (sum(map(len, words)) - len(spans)) + spans
            at = 0
            for number, size in (piece for word in words for piece in self._best(word)):
                yield number, trim(text, (spans[at][0], spans[at + size - 1][1]))
                at += size

    def _best(self, word: str) -> list[tuple[int, int]]:
        """The ids of the best way, and how many characters each stands for."""
        found: list[tuple[int, int]] = []
        for start, end in self._path(word):
            number = self._ids.get(word[start:end], self._unknown)
            if found and number == self._unknown == found[-1][0]:
                found[-1] = (number, found[-1][1] + end - start)
            else:
                found.append((number, end - start))
        return found

    def _path(self, word: str) -> list[Span]:
        """Viterbi: the pieces' spans on the best way; of equal ways the one whose last piece begins first."""
        total: list[float] = [0.0] + [float("-inf")] * len(word)
        begin = [0] * (len(word) + 1)
        for start in range(len(word)):
            here = total[start]
            for end in range(start + 1, min(len(word), start + self._longest.get(word[start], 1)) + 1):
                score = self._scores.get(word[start:end], self._unknown_score if end == start + 1 else None)
                if score is not None and here + score > total[end]:
                    total[end], begin[end] = here + score, start
        spans, end = [], len(word)
        while end:
            spans.append((begin[end], end))
            end = begin[end]
        return spans[::-1]


def _cut(chunk: str) -> list[str]:
    """A chunk, with U+2581 in front, cut before each U+2581."""
    return _WORD.findall(chunk if chunk.startswith(WORD_START) else WORD_START + chunk)


def _offset(unit: int) -> int:
    """The distance from a unit of the trie to its children (darts-clone)."""
    return (unit >> 10) << ((unit & _WIDE) >> 6)


def from_metadata(metadata: Metadata) -> Unigram:
    """The tokenizer that a GGUF file describes. Raises BadModelFile; UnsupportedModel for other ways of white space."""
    keys = Keys(metadata)
    white_space = metadata.get("cloister.tokenizer.white_space", "split")
    if not isinstance(white_space, str) or white_space not in WHITE_SPACE_WAYS:
        expected = " or ".join(WHITE_SPACE_WAYS)
        raise UnsupportedModel(f"cloister.tokenizer.white_space: found {white_space!r:.60}, expected {expected}")
    for key in ("add_space_prefix", "remove_extra_whitespaces"):
        if not keys.flag(f"tokenizer.ggml.{key}", True):
            raise UnsupportedModel(f"tokenizer.ggml.{key}: found False, expected True")
    template = keys.template(bos=False, eos=True)
    return Unigram(_read_vocabulary(keys), white_space, template, keys.specials())


def _read_vocabulary(keys: Keys) -> Vocabulary:
    unknown = keys.id("unknown")
    out = keys.ruled_out() | {unknown}
    ids = keys.pieces(out)
    # ours, in float64, where float32 would round them
    key = "cloister.tokenizer.scores" if "cloister.tokenizer.scores" in keys.metadata else "tokenizer.ggml.scores"
    scores, charsmap = keys.scores(key), _read_charsmap(keys.metadata)
    return Vocabulary({token: scores[number] for token, number in ids.items()}, ids, unknown, charsmap)


def _read_charsmap(metadata: Metadata) -> bytes:
    found = metadata.get("tokenizer.ggml.precompiled_charsmap")
    if found is None:
        return b""
    if not isinstance(found, np.ndarray) or found.dtype.itemsize != 1:
        raise BadModelFile(f"tokenizer.ggml.precompiled_charsmap: found {type(found).__name__}, expected bytes")
    return found.tobytes()


_WORD = re.compile(f"{WORD_START}[^{WORD_START}]*")
_SPACES = re.compile(" +")
_READ = re.compile(" +|.", re.DOTALL)
