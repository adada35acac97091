"""Entities of a text from the labels of its tokens: the schemes IO, BIO (IOB2), BILOU and BIOES.

A label is a mark, "-" and a type: B begins an entity, I is inside one, L or E ends it, U or S is one by itself; O is
outside of all. Labels of which some have no mark are types (IO). Tokens are read word by word: a word has the label of
its first token, which is the only one that such models are trained on. An I, L or E without a beginning begins an
entity too. The score of an entity is the mean of the probabilities of its words' labels.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final

import numpy as np
from numpy.typing import NDArray

OUTSIDE: Final = "O"
_MARKED: Final = re.compile(r"([BILEUS])-(.+)", re.DOTALL)
_BEGINS, _ENDS = "BUS", "LEUS"
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)
"""Characters of scripts that write words without spaces: each token of them is a word."""

Tagged = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Of each token of a text: where it begins and ends, int32 [tokens, 2], and the probabilities of the labels, float32
[tokens, labels]."""


@dataclass(frozen=True)
class Entity:
    """text[start:end] is a `type`; `score` is a probability."""

    type: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Word:
    """text[start:end], with the place of the first of its tokens."""

    start: int
    end: int
    token: int


def marks_of(labels: Sequence[str]) -> list[tuple[str, str] | None]:
    """The mark and the type of each label, in order; None for what is outside."""
    inside = [label for label in labels if label != OUTSIDE]
    found = {label: match for label in inside if (match := _MARKED.fullmatch(label))}
    marked = len(found) == len(inside)
    return [
        None if label == OUTSIDE else (found[label][1], found[label][2]) if marked else ("I", label) for label in labels
    ]


def types_of(labels: Sequence[str]) -> list[str]:
    """The types of entity that the labels know, in the order of the labels."""
    return list(dict.fromkeys(mark[1] for mark in marks_of(labels) if mark))


def entities(text: str, tagged: Tagged, labels: Sequence[str]) -> list[Entity]:
    """The entities of a text, in order."""
    offsets, shares = tagged
    marks = marks_of(labels)
    found: list[tuple[str, list[Word]]] = []
    going = False  # whether the last of them may go on
    for word in words(text, offsets.tolist()):
        mark = marks[int(shares[word.token].argmax())]
        if mark is None:
            going = False
            continue
        if going and mark[0] not in _BEGINS and found[-1][0] == mark[1]:
            found[-1][1].append(word)
        else:
            found.append((mark[1], [word]))
        going = mark[0] not in _ENDS
    return [
        Entity(kind, its[0].start, its[-1].end, _mean([float(shares[word.token].max()) for word in its]))
        for kind, its in found
    ]


def words(text: str, offsets: Sequence[tuple[int, int]]) -> Iterator[Word]:
    """Tokens that the text does not part are one word: both characters where they meet are letters or digits."""
    word: Word | None = None
    for token, (start, end) in enumerate(offsets):
        if start >= end:
            continue
        if word and (start < word.end or (start == word.end and _joined(text[start - 1], text[start]))):
            word = replace(word, end=max(word.end, end))
            continue
        if word:
            yield word
        word = Word(start, end, token)
    if word:
        yield word


def _joined(before: str, after: str) -> bool:
    """Whether two neighbouring characters are of one word."""
    return before.isalnum() and after.isalnum() and not _UNSPACED.match(before) and not _UNSPACED.match(after)


def _mean(scores: Sequence[float]) -> float:
    return round(fsum(scores) / len(scores), 6)


def merged(found: Sequence[Entity]) -> list[Entity]:
    """Entities from windows that overlap, in the order of the text: of those of one type that share characters the
    longest holds, then the surest."""
    kept: list[Entity] = []
    for one in sorted(found, key=lambda entity: (entity.type, entity.start, entity.end)):
        last = kept[-1] if kept else None
        if last and last.type == one.type and one.start < last.end:
            kept[-1] = max(last, one, key=lambda entity: (entity.end - entity.start, entity.score, -entity.start))
        else:
            kept.append(one)
    return sorted(kept, key=lambda entity: (entity.start, entity.end, entity.type))
