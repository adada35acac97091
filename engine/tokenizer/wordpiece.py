"""WordPiece: text to token ids, greedily, the longest piece first.

Source: Devlin et al. 2018 and the `tokenizers` package (BertPreTokenizer, WordPiece). A document's text never becomes a
control token: "[SEP]" in a text is a bracket, a word and a bracket. (The `tokenizers` package, as models ship it, looks
for its special tokens in the text first; in everything else the ids are the same.)
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any

from engine.errors import BadModelFile
from engine.tokenizer.base import Span, Template, Tokenizer, pack, unpack
from engine.tokenizer.metadata import Keys, Metadata
from engine.tokenizer.prompts import Specials
from engine.tokenizer.unicode import tables
from engine.tokenizer.unicode.codepoints import Cache, Ranges, span_of, text_of
from engine.tokenizer.unicode.nfc import clusters, decompose, in_order

ALGORITHM = "wordpiece-1"
"""Part of the digest: another reading of the same metadata must not look the same."""

MAX_WORD_CHARS = 100
"""A longer word is unknown as a whole."""

WORD_START = "\u2581"

# str.split() also splits at these, which the normalizer drops: they hold together what stands around them
_DROPPED_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
_WITHOUT_DROPPED_SPACES = {ord(c): None for c in _DROPPED_SPACES}


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


class Normalizer:
    """Text to words, as the `tokenizers` package does it (BertNormalizer), from tables that no Python version changes.

    In this order: control characters are dropped and white space becomes a space; Chinese characters get spaces around
    them; accents are stripped (canonical decomposition, without non-spacing marks); each code point is lowered by
    itself (no final sigma, no language). The result is split at spaces, and each punctuation character is a word of its
    own. One instance may be used by several threads at once."""

    def __init__(self, *, lower_case: bool, strip_accents: bool, chinese_chars: bool) -> None:
        self._lower_case, self._strip_accents, self._chinese_chars = lower_case, strip_accents, chinese_chars
        self._first, self._last = Cache(self._clean), Cache(self._fold)
        self._alone = Cache[int, str](lambda number: self.normalize(chr(number)))

    def normalize(self, text: str) -> str:
        """The text as it is cut into words."""
        text = text.translate(self._first)
        if self._strip_accents:
            text = in_order(text)
        return text.translate(self._last)

    def words(self, text: str) -> list[str]:
        """The words of a text, normalized, in order; none is empty."""
        return _WORD.findall(self.normalize(text))

    def aligned(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """Each character of `normalize(text)` with the span of the text it comes from: one character, or, where marks
        were put in order, a character and its marks."""
        kept = [at for at, c in enumerate(text) if ord(c) not in _REMOVED]
        text, found = "".join(text[at] for at in kept), []
        for start, end in clusters(text):
            alone = [self._alone[ord(c)] for c in text[start:end]]
            if end == start + 1 or "".join(alone) == self.normalize(text[start:end]):
                found += [(c, (kept[i], kept[i] + 1)) for i, result in enumerate(alone, start) for c in result]
            else:
                found += [(c, (kept[start], kept[end - 1] + 1)) for c in self.normalize(text[start:end])]
        return found

    def _clean(self, number: int) -> str:
        """Drops characters, and does white space, Chinese characters, canonical decomposition."""
        if number in _REMOVED:
            return ""
        if number in _SPACE:
            return " "
        text = decompose(number) if self._strip_accents else chr(number)
        return f" {text} " if self._chinese_chars and number in _CHINESE else text

    def _fold(self, number: int) -> str:
        """Drops non-spacing marks, lowers letters."""
        if self._strip_accents and number in _MARKS:
            return ""
        return _LOWER.get(number, chr(number)) if self._lower_case else chr(number)


class WordPiece(Tokenizer):
    """The tokenizer of BERT models."""

    def __init__(
        self, vocabulary: Vocabulary, settings: Settings, template: Template | None = None,
        specials: Specials | None = None,
    ) -> None:  # fmt: skip
        around = ((vocabulary.cls,), (vocabulary.sep,), (vocabulary.sep,), 1)
        usual = Template(*around)
        super().__init__(template or usual, lambda: _facts(vocabulary, settings, template, usual), specials)
        self._vocabulary = vocabulary
        self._normalizer = Normalizer(**asdict(settings))
        self._words = Cache(self._split)
        self._chunks = Cache[str, bytes](
            lambda chunk: b"".join(map(self._words.__getitem__, self._normalizer.words(chunk)))
        )
        pieces = [*vocabulary.starts.items(), *vocabulary.continuations.items()]
        self._sizes = {number: len(piece) for piece, number in pieces}
        self._longest = max(self._sizes.values(), default=1)

    def _texts(self) -> Iterator[tuple[int, bytes]]:
        for pieces, before in (self._vocabulary.starts, " "), (self._vocabulary.continuations, ""):
            yield from ((number, f"{before}{piece}".encode()) for piece, number in pieces.items())

    def _body(self, text: str) -> bytes:
        """A chunk between white space never depends on another, so most are known."""
        if any(c in text for c in _DROPPED_SPACES):
            text = text.translate(_WITHOUT_DROPPED_SPACES)
        return b"".join(map(self._chunks.__getitem__, text.split()))

    def _located(self, text: str) -> Iterator[tuple[int, Span]]:
        aligned = self._normalizer.aligned(text)
        normalized = "".join(c for c, _ in aligned)
        for word in _WORD.finditer(normalized):
            start, unknown = word.start(), self._vocabulary.unknown
            for number in unpack(self._words[word[0]]):
                size = len(word[0]) if number == unknown else self._sizes[number]
                yield number, (aligned[start][1][0], aligned[start + size - 1][1][1])
                start += size

    def _split(self, word: str) -> bytes:
        """The longest piece that fits, again and again; a word that does not come out is one unknown token."""
        unknown = pack([self._vocabulary.unknown])
        if len(word) > MAX_WORD_CHARS:
            return unknown
        ids, start, pieces = [], 0, self._vocabulary.starts
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = pieces.get(word[start:end])
                if number is not None:
                    break
            else:
                return unknown
            ids.append(number)
            start, pieces = end, self._vocabulary.continuations
        return pack(ids)


def from_metadata(metadata: Metadata) -> WordPiece:
    """The tokenizer that a GGUF file describes. Raises BadModelFile."""
    keys = Keys(metadata)
    ids = {role: keys.id(role) for role in ("cls", "sep", "unknown")}
    starts, continuations = _pieces(keys.tokens, keys.ruled_out() | set(ids.values()))
    vocabulary = Vocabulary(starts, continuations, ids["cls"], ids["sep"], ids["unknown"])
    settings = keys.settings(dict.fromkeys(("lower_case", "strip_accents", "chinese_chars"), True))
    template = keys.recorded_template()
    return WordPiece(vocabulary, Settings(**settings), template, keys.specials())


def _pieces(tokens: list[str], control: set[int]) -> tuple[dict[str, int], dict[str, int]]:
    """Pieces that begin a word and pieces that continue one, without the control tokens."""
    starts: dict[str, int] = {}
    continuations: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if number in control:
            continue
        pieces = starts if token.startswith(WORD_START) and token != WORD_START else continuations
        piece = token.removeprefix(WORD_START) if pieces is starts else token
        if not piece or piece in pieces:
            raise BadModelFile(f"tokenizer.ggml.tokens: token {number}: found {token!r:.60} again or empty")
        pieces[piece] = number
    return starts, continuations


def _facts(vocabulary: Vocabulary, settings: Settings, template: Template | None, usual: Template) -> list[Any]:
    """The template is a fact where it is not the usual one."""
    return [
        ALGORITHM,
        astuple(settings),
        [vocabulary.cls, vocabulary.sep, vocabulary.unknown],
        list(vocabulary.starts.items()),
        list(vocabulary.continuations.items()),
        *([] if template in (None, usual) else [astuple(template)]),
    ]


def _parse_lower(text: str) -> dict[int, str]:
    """Parses `41-5a+20 100-12e/2+1 130=69.307` -> {0x41: "a", …, 0x100: "\\u0101", …, 0x130: "i\\u0307"}."""
    found = {}
    for item in text.split():
        number, is_text, points = item.partition("=")
        if is_text:
            found[int(number, 16)] = text_of(points)
            continue
        parts = re.fullmatch(r"([0-9a-f]+(?:-[0-9a-f]+)?)(/2)?([+-][0-9a-f]+)", item)
        if parts is None:
            raise AssertionError(f"unicode.tables.LOWER: {item}")
        first, last = span_of(parts[1])
        found |= {number: chr(number + int(parts[3], 16)) for number in range(first, last + 1, 2 if parts[2] else 1)}
    return found


_REMOVED = Ranges(tables.REMOVED)
_SPACE = Ranges(tables.SPACE)
_CHINESE = Ranges(tables.CHINESE)
_MARKS = Ranges(tables.MARKS)
_LOWER = _parse_lower(tables.LOWER)
_PUNCTUATION = Ranges(tables.PUNCTUATION).pattern()
_WORD = re.compile(f"[{_PUNCTUATION}]|[^ {_PUNCTUATION}]+")
