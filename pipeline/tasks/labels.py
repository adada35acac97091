"""How well the words around a value name a field."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.tasks.layout import Surroundings, words

_BETWEEN = re.compile("[,;()/]")
_LITTLE = frozenset(  # words that name nothing by themselves
    "a an the of to in on at by for from with is are be this that our your you we it its which what when who whom and "  # noqa: SIM905
    "der die das des dem den ein eine einer von zu zum zur im in am an auf bei bis mit ist sind und wir sie ihr ihre "
    "le la les de du des un une et est pour par sur au aux no nr".split()
)
LITTLE: Final = 0.5  # the weight of such a word
NOT_BEFORE: Final = 0.8  # the weight of a word after or above a value rather than before it
FADE: Final = 0.06  # what a word loses by each word that stands between it and the value

Phrase = tuple[str, ...]


def phrases(name: str, description: str) -> tuple[Phrase, ...]:
    """How a field may be called in a document: its name, and each part of its description between commas."""
    parts = [name.replace("_", " "), *_BETWEEN.split(description)]
    return tuple(dict.fromkeys(found for part in parts if (found := words(part))))


def named(alternatives: Sequence[Phrase], around: Surroundings) -> float:
    """From 0 to 1: how fully the best of the phrases stands around a value, weighted by nearness."""
    nearness = _nearness(around)
    return max((_share(phrase, nearness) for phrase in alternatives), default=0.0)


def _share(phrase: Phrase, nearness: dict[str, float]) -> float:
    """The weight of the phrase's words that are there, of all; one word alone says a little less than two."""
    weights = [LITTLE if word in _LITTLE else 1.0 for word in phrase]
    found = sum(
        weight * max((near * _same(word, other) for other, near in nearness.items()), default=0.0)
        for word, weight in zip(phrase, weights, strict=True)
    )
    return found / sum(weights) * min(1.0, 0.8 + 0.1 * sum(weights))


def _nearness(around: Surroundings) -> dict[str, float]:
    """The words around a value, each with the weight of its nearest place."""
    weights: dict[str, float] = {}
    for word, weight in _places(around):
        weights[word] = max(weight, weights.get(word, 0.0))
    return weights


def _places(around: Surroundings) -> Iterator[tuple[str, float]]:
    for group, weight in ((around.before, 1.0), (around.after, NOT_BEFORE), (around.above, NOT_BEFORE)):
        for distance, word in enumerate(group):
            yield word, weight * max(0.0, 1.0 - FADE * distance)


def _same(word: str, other: str) -> float:
    """1 for the same word, 0.8 for another form of it, 0.6 for compounds with the same head, which in German is last.

    A compound that only begins with the word is another thing: a Rechnungsdatum is no Rechnung.
    """
    if word == other:
        return 1.0
    if len(word) < 4 or len(other) < 4:
        return 0.0
    shared = _shared(word, other)
    if shared >= 4 and max(len(word), len(other)) - shared <= 3:
        return 0.8
    if _shared(word[::-1], other[::-1]) >= 5:
        return 0.6
    return 0.3 if shared >= 6 else 0.0


def _shared(a: str, b: str) -> int:
    """How many letters two words begin with in common."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
