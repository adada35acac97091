"""The base of every tokenizer: ids of a text or of a pair of texts, ids around them, and where each id lies.

A document's text never becomes a control token: no member of this family looks for one in a text.
"""

import hashlib
import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.tokenizer.prompts import Piece, Specials, cut
from engine.tokenizer.unicode import classes
from engine.tokenizer.unicode.codepoints import Ranges

Ids = NDArray[np.int32]
Span = tuple[int, int]
"""Begin and end, in code points of the original text."""

NOWHERE: Span = (-1, -1)

LONE = re.compile("[\ud800-\udfff]")
"""Halves of characters, which have no bytes: tokenizers drop them."""


@dataclass(frozen=True)
class Template:
    """Ids put before a text, after it, and between the two texts of a pair; the token type of the second text."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    middle: tuple[int, ...]
    second_type: int


@dataclass(frozen=True)
class Encoding:
    """ids int32 [n]; types int32 [n], the row of the token type embeddings; offsets int32 [n, 2], the code points of
    the text (of a pair: of the second text) that an id stands for, without white space around it, -1 -1 where it
    stands for none of them."""

    ids: Ids
    types: Ids
    offsets: Ids


class Tokenizer:
    """Ids are those of the original tokenizer. One instance may be used by several threads at once."""

    def __init__(self, template: Template, facts: Callable[[], list[Any]], specials: Specials | None = None) -> None:
        """`facts` gives everything else that determines the ids of a text, as JSON."""
        self.template, self._facts = template, facts
        self.specials = specials or Specials()
        self._prefix, self._suffix = pack(template.prefix), pack(template.suffix)

    def encode(self, text: str) -> Ids:
        """int32 [n], read-only: prefix, the ids of the text, suffix."""
        return np.frombuffer(self._prefix + self._body(text) + self._suffix, np.int32)

    def encode_many(self, texts: Iterable[str]) -> list[Ids]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def count(self, text: str) -> int:
        """How many ids `encode` gives."""
        return (len(self._prefix) + len(self._body(text)) + len(self._suffix)) // 4

    def encode_with_offsets(self, text: str) -> Encoding:
        """The ids of `encode`, and where in the text each of them lies."""
        prefix, suffix = self.template.prefix, self.template.suffix
        return _encoding([(prefix, 0), (list(self._located(text)), 0), (suffix, 0)])

    def encode_pair(self, first: str, second: str) -> Encoding:
        """Two texts in one sequence, as question answering and rerankers have them; offsets are of the second."""
        t = self.template
        body = list(self._located(second))
        ids = np.frombuffer(self._body(first), np.int32).tolist()
        return _encoding([(t.prefix, 0), (ids, 0), (t.middle, 0), (body, t.second_type), (t.suffix, t.second_type)])

    def encode_within(self, text: str) -> list[int]:
        """The ids of a text that goes on where another ends, as an answer does: nothing is put before or after it."""
        return unpack(self._between(text, is_first=False))

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """The bytes that each id stands for in a text; empty for control tokens, unknown and unused ones."""
        found = [b""] * self.specials.size
        for number, text in self._texts():
            found[number] = text
        return found

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The ids that end an answer, sorted."""
        return self.specials.ends

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids stand for; bytes that are no UTF-8 become U+FFFD."""
        known = self.token_bytes
        return b"".join([known[number] for number in ids]).decode(errors="replace")

    @cached_property
    def sha256(self) -> str:
        """Digest of everything that determines what `encode` gives; a tenth of a second for a large vocabulary."""
        return digest(self._facts())

    @cached_property
    def prompt_sha256(self) -> str:
        """Digest of everything that determines what `encode_pieces` and `decode` give."""
        return digest([self.sha256, astuple(self.specials)])

    def encode_pieces(self, pieces: Iterable[Piece]) -> Ids:
        """int32 [n], read-only: a prompt. Control and user-defined tokens are found in the text of a template only;
        between them template and content are one text. It begins with the id of the beginning of a text where the
        file asks for it, once, though the template may write it too."""
        bos = self.specials.bos
        parts: list[bytes] = []
        for number, text in cut(pieces, self.specials):
            parts.append(pack([number]) if number is not None else self._between(text, is_first=not parts))
        ids = b"".join(parts)
        if bos is not None and self.specials.adds_bos and not ids.startswith(pack([bos])):
            ids = pack([bos]) + ids
        return np.frombuffer(ids, np.int32)

    def _between(self, text: str, *, is_first: bool) -> bytes:
        """The ids of a text between control tokens; `is_first` where none stands before it."""
        return self._body(text)

    def _texts(self) -> Iterator[tuple[int, bytes]]:
        """The ids that stand for text, and the text."""
        raise NotImplementedError

    def _body(self, text: str) -> bytes:
        """The ids of a text, int32 each."""
        raise NotImplementedError

    def _located(self, text: str) -> Iterator[tuple[int, Span]]:
        """The ids of `_body`, each with its span."""
        raise NotImplementedError

    def _walk(self, ids: bytes, of_bytes: list[Span], text: str) -> Iterator[tuple[int, Span]]:
        """Each id with the span of the bytes that it stands for, which `of_bytes` has one by one."""
        at = 0
        for number in unpack(ids):
            end = at + len(self.token_bytes[number])
            yield number, trim(text, (of_bytes[at][0], of_bytes[end - 1][1]))
            at = end


def digest(facts: Any) -> str:
    """sha256 of facts as JSON."""
    return hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()


def pack(ids: Iterable[int]) -> bytes:
    """The ids as bytes, int32 each."""
    return array("i", ids).tobytes()


def unpack(ids: bytes) -> list[int]:
    """The ids that `pack` made bytes of."""
    return array("i", ids).tolist()


def without_halves(text: str) -> tuple[str, list[int]]:
    """The text without LONE, and where each of its characters was."""
    kept = [at for at, c in enumerate(text) if not LONE.match(c)]
    return "".join([text[at] for at in kept]), kept


def trim(text: str, span: Span) -> Span:
    """The span without white space around it; where it is nothing else, the empty span at its end."""
    start, end = span
    while start < end and text[start] in WHITE_SPACE:
        start += 1
    while start < end and text[end - 1] in WHITE_SPACE:
        end -= 1
    return start, end


def _encoding(parts: list[tuple[Any, int]]) -> Encoding:
    """Joins lists of ids, or of ids with their spans, each list with its token type."""
    items = [item if isinstance(item, tuple) else (item, NOWHERE) for part, _ in parts for item in part]
    types = [kind for part, kind in parts for _ in part]
    offsets = np.array([span for _, span in items], np.int32).reshape(-1, 2)
    return Encoding(np.array([number for number, _ in items], np.int32), np.array(types, np.int32), offsets)


WHITE_SPACE = frozenset(chr(n) for first, last in Ranges(classes.WHITE_SPACE).spans for n in range(first, last + 1))
"""Unicode's White_Space, as pre-tokenizers split at it."""
