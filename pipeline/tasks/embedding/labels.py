"""Measure how well the words around a value name a field."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pipeline.tasks.embedding.layout import Surroundings, words

_BETWEEN = re.compile("[,;()/]")
LITTLE_WORDS = frozenset(  # words that name nothing by themselves
    "a an the of to in on at by for from with is are be this that our your you we it its which what when who whom and "  # noqa: SIM905
    "as or der die das des dem den ein eine einer von zu zum zur im in am an auf bei bis mit ist sind und wir sie ihr "
    "ihre le la les de du des un une et est pour par sur au aux no nr".split()
)
# What may not follow a label: a text that goes on with these words is the rest of a phrase and no value.
_REST = r"[\W_]+(?!(?:and|or|of|is|are|shall|will|und|oder|der|des|ist|et|ou|de)\b)(?=\w)"
_GENERAL = frozenset(  # words that say what kind of thing a value is, and not which
    "number date name rate nummer datum satz numéro numero numer data".split()  # noqa: SIM905
)
_KINDS = ("nummer", "datum", "satz", "number")  # heads of compounds that many different things have
LITTLE: Final = 0.5  # the weight of such a word
NOT_BEFORE: Final = 0.8  # the weight of a word after or above a value rather than before it
LINE: Final = 120  # characters: a longer text is no line that begins with a label
FADE: Final = 0.06  # what a word loses by each word that stands between it and the value

Phrase = tuple[str, ...]


class Naming:
    """The names of a field in documents: its own name, and each phrase of its description between commas."""

    def __init__(self, name: str, description: str) -> None:
        said = [name.replace("_", " "), *_BETWEEN.split(description)]
        self.phrases: tuple[Phrase, ...] = tuple(dict.fromkeys(found for one in said if (found := words(one))))
        longest_first = sorted(self.phrases, key=lambda phrase: (-len(phrase), phrase))
        alternatives = "|".join(r"[\W_]+".join(map(re.escape, phrase)) for phrase in longest_first)
        self._label = re.compile(rf"[\W_]{{0,4}}(?:{alternatives}){_REST}", re.IGNORECASE) if alternatives else None

    def share(self, present: Mapping[str, float]) -> float:
        """Measure from 0 to 1 how fully the best of the phrases is among the words that are present."""
        return max((_share(phrase, present) for phrase in self.phrases), default=0.0)

    def is_name(self, text: str) -> bool:
        """Whether the text is one of the phrases and nothing else: the label of a value and no value."""
        return len(text) <= LINE and words(text) in self.phrases

    def label(self, text: str, start: int, end: int) -> int:
        """The length of the phrase with which the line text[start:end] begins, as in "Bill to Acme Ltd"; 0 for none."""
        if end - start > LINE or text[end - 1] in ".!?" or self._label is None:
            return 0
        match = self._label.match(text, start, end)
        return match.end() - start if match else 0


class Vocabulary:
    """The words of all fields, found by how they begin and how they end."""

    def __init__(self, fields: Iterable[Naming]) -> None:
        self._by_end: dict[str, set[str]] = {}
        for word in (word for naming in fields for phrase in naming.phrases for word in phrase):
            for end in _ends(word):
                self._by_end.setdefault(end, set()).add(word)

    def present(self, around: Surroundings) -> dict[str, float]:
        """The words of fields that stand around a value, each with the weight of its nearest place, 0 to 1."""
        weights: dict[str, float] = {}
        for other, near in _places(around):
            for word in set().union(*(self._by_end.get(end, ()) for end in _ends(other))):
                weights[word] = max(near * _same(word, other), weights.get(word, 0.0))
        return weights


def _ends(word: str) -> tuple[str, ...]:
    """The beginning and the end of a word: two words that are the same to any degree share at least one of them."""
    return (f"{word[:4]}-", f"-{word[-5:]}") if len(word) >= 4 else (word,)


def _share(phrase: Phrase, present: Mapping[str, float]) -> float:
    """The weight of the phrase's words that are there, of all; one word alone says a little less than two, and words
    that name nothing by themselves say nothing alone."""
    found = whole = 0.0
    if not any(word in present for word in phrase if word not in LITTLE_WORDS):
        return 0.0
    for word in phrase:
        weight = LITTLE if word in LITTLE_WORDS or (word in _GENERAL and len(phrase) > 1) else 1.0
        found += weight * present.get(word, 0.0)
        whole += weight
    return found / whole * min(1.0, 0.8 + 0.1 * whole)


def _places(around: Surroundings) -> Iterator[tuple[str, float]]:
    """The words around a value with the weight of their place."""
    for word in around.cues:
        yield word, 1.0
    for group, weight in ((around.before, 1.0), (around.after, NOT_BEFORE), (around.above, NOT_BEFORE)):
        for distance, word in enumerate(group):
            yield word, weight * max(0.0, 1.0 - FADE * distance)


def _same(word: str, other: str) -> float:
    """1 for the same word, 0.8 for another form of it, 0.6 for compounds with the same head, which in German is last,
    and 0.3 where that head is only a number or a date of anything.

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
        return 0.3 if word.endswith(_KINDS) else 0.6
    return 0.3 if shared >= 6 else 0.0


def _shared(a: str, b: str) -> int:
    """Count the letters with which two words begin in common."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
