"""WordPiece: text to token ids, greedily, the longest piece first.

Source: Devlin et al. 2018 and the `tokenizers` package (BertPreTokenizer, WordPiece). A document's text never becomes a
control token: "[SEP]" in a text is a bracket, a word and a bracket. (The `tokenizers` package, as models ship it, looks
for its special tokens in the text first; in everything else the ids are the same.)
"""

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any

from engine.errors import BadModelFile
from engine.tokenizer.base import Span, Template, Tokenizer, pack, unpack
from engine.tokenizer.metadata import Keys, Metadata
from engine.tokenizer.normalize import Normalizer
from engine.tokenizer.prompts import Specials
from engine.tokenizer.unicode.codepoints import Cache

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
        for start, end in self._normalizer.word_spans(normalized):
            for number, size in self._sizes_of(normalized[start:end]):
                yield number, (aligned[start][1][0], aligned[start + size - 1][1][1])
                start += size

    def _sizes_of(self, word: str) -> list[tuple[int, int]]:
        """The ids of a word and how many of its characters each stands for."""
        unknown = self._vocabulary.unknown
        ids = unpack(self._words[word])
        return [(number, len(word) if number == unknown else self._sizes[number]) for number in ids]

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
