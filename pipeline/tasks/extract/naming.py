"""The words beside a value, and how well they name a field."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.document import Parsed, Span

_WORD = re.compile(r"[^\W_]+")
_CELL = " | "
_WAY = re.compile(  # the way to a value of JSON, before it: a.b[3]:
    r"^(?:\[\d+\]|[^\s.:\[\]][^\n.:\[\]]*)(?:\.[^\n.:\[\]]+|\[\d+\])*:(?= )", re.MULTILINE
)
_WITH_WAYS = frozenset(("application/json", "application/x-ndjson"))
REACH: Final = 80  # characters that are looked at on either side of a value
HEADING: Final = 60  # characters: a longer line is no label of the line below it


@dataclass(frozen=True)
class Surroundings:
    """Words around a value, in lower case: `before` and `after` it in its passage, the nearest first; `above` it.

    `cues` are those of the value itself, as if they stood beside it."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    above: tuple[str, ...]
    cues: tuple[str, ...] = ()


def words(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in lower case."""
    return tuple(word.lower() for word in _WORD.findall(text))


def written_labels(document: Parsed) -> list[Span]:
    """The labels that the parser wrote and the document does not have: in JSON the way to each value."""
    if document.media_type not in _WITH_WAYS:
        return []
    return [Span(*match.span()) for match in _WAY.finditer(document.text)]


class Layout:
    """The lines of one text; rows of a table are lines with cells separated by " | " that follow one another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._heads: list[int] = []  # for each line, the first row of its table, or -1
        for index in range(len(self._starts)):
            row = _CELL in self._line(index)
            self._heads.append((self._heads[-1] if index and self._heads[-1] >= 0 else index) if row else -1)

    def around(self, start: int, end: int, passage: Span) -> Surroundings:
        """Give the words around text[start:end] in its passage, and above it.

        Above is the head of its column in a table, or a short line above where the value begins its line; of the first
        and last of several values in a line below words alone, the first and last two of these.
        """
        index = bisect_right(self._starts, start) - 1
        floor = self._starts[index] if self._heads_above(index) else passage.start
        before = words(self._text[max(floor, start - REACH) : start])[::-1]
        after = words(self._text[end : min(passage.end, end + REACH)])
        return Surroundings(before, after, self._above(start, end))

    def _above(self, start: int, end: int) -> tuple[str, ...]:
        index = bisect_right(self._starts, start) - 1
        head = self._heads[index]
        if head >= 0:
            cells = self._line(head).split(_CELL)
            column = self._text.count(_CELL, self._starts[index], start)
            return words(cells[column]) if head < index and column < len(cells) else ()
        begins = not words(self._text[max(self._starts[index], start - REACH) : start])
        if heads := self._heads_above(index):
            ends = not self._text[end : self._starts[index] + len(self._line(index))].strip()
            return heads[:2] if begins else heads[-2:] if ends else ()
        return self._line_above(index) if begins else ()

    def _heads_above(self, index: int) -> tuple[str, ...]:
        """The words of the line above, if it has words alone, and this line several values alone: heads of columns."""
        line, above = self._line(index).split(), self._line(index - 1) if index else ""
        values = len(line) > 1 and all(any(map(str.isdigit, token)) for token in line)
        named = values and len(above) <= HEADING and not any(map(str.isdigit, above)) and ":" not in above
        return words(above) if named else ()

    def _line_above(self, index: int) -> tuple[str, ...]:
        """The words of the nearest line above, over at most one blank line, unless it is long."""
        for above in range(index - 1, max(-1, index - 3), -1):
            line = self._line(above)
            if found := words(line[: HEADING + 1]):
                return found if len(line) <= HEADING else ()
        return ()

    def _line(self, index: int) -> str:
        end = self._starts[index + 1] - 1 if index + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[index] : end]


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
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


K1: Final = 1.2  # how soon a word that comes again counts no more
B: Final = 0.75  # how much longer passages need more words
STEM: Final = 5


class Lexical:
    """The words of a document's passages, by which they are like a description: BM25 without logarithms.

    Robertson and Zaragoza 2009, with the share of passages that lack a word in place of its inverse document frequency,
    so that the sum is the same on every machine. A word is its first five letters, without an s at its end."""

    def __init__(self, passages: Iterable[str]) -> None:
        self._counts = [Counter(_stems(words(passage))) for passage in passages]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(self._lengths)) or 1.0
        self._with = Counter(stem for counts in self._counts for stem in counts)

    def likenesses(self, description: str) -> list[float]:
        """The likeness of each passage to the words of a description, from 0 to 1."""
        asked = list(dict.fromkeys(_stems(word for word in words(description) if word not in LITTLE_WORDS)))
        weights = [1.0 - self._with[stem] / max(1, len(self._counts)) for stem in asked]
        whole = (K1 + 1.0) * _summed(weights)
        if not whole:
            return [0.0] * len(self._counts)
        return [
            _summed([weight * self._told(index, stem) for stem, weight in zip(asked, weights, strict=True)]) / whole
            for index in range(len(self._counts))
        ]

    def _told(self, index: int, stem: str) -> float:
        """How much a passage says by a word, up to K1 + 1."""
        count = self._counts[index][stem]
        return count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * self._lengths[index] / self._mean)) if count else 0.0


def _stems(found: Iterable[str]) -> list[str]:
    return [word.removesuffix("s")[:STEM] for word in found]


def _summed(values: Sequence[float]) -> float:
    """The sum from the first to the last: `sum` rounds differently since Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total
