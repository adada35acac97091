"""One document in which fields look for their values."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipeline.document import Span
from pipeline.tasks.embedding.labels import Naming, Vocabulary
from pipeline.tasks.embedding.layout import HEADING, Layout, words
from pipeline.text.values import VALUES, Finder, Value, read_habits

MEANING: Final = 0.5  # the weight of what the passage means, against how the words beside the value name the field
UNSURE: Final = 0.2  # what a value loses whose type the text alone does not show
EARLY: Final = 0.1  # what a value at the very beginning gains, and none after so many characters
EARLY_REACH: Final = 3000
EQUAL: Final = 0.02  # values whose scores differ by no more than this fit equally
TAKEN: Final = 0.15  # what a value loses that another field fits better
MOST_VALUES: Final = (
    20_000  # of one type; of more, those in the passages nearest in meaning to some field are looked at
)


@dataclass(frozen=True)
class Sought:
    """A field in one document: how values of its type are found, and how the document speaks of it.

    `likenesses` are the cosines of its meaning to each passage; `telling` is what a value of the type alone is worth.
    """

    finder: Finder
    naming: Naming
    likenesses: Sequence[float]
    telling: float


@dataclass(frozen=True)
class Found:
    """A value and how well it fits a field, from 0 to 1; `passed_over` values were too many to be looked at."""

    value: Value
    score: float
    passed_over: int = 0


@dataclass(frozen=True)
class _Candidate:
    """A value, the index of its passage, and the words of fields around it with their weights."""

    value: Value
    passage: int
    present: Mapping[str, float]


class Scene:
    """A text, its passages, and the values of each type in it, found once however many fields ask for them."""

    def __init__(
        self, text: str, passages: Sequence[Span], vocabulary: Vocabulary, labels: Sequence[Span] = ()
    ) -> None:
        """`labels`, ascending, were written by the parser: what begins in them is no value."""
        self._text = text
        self._labels = labels
        self._label_starts = [label.start for label in labels]
        self._passages = passages
        self._vocabulary = vocabulary
        self._starts = [span.start for span in passages]
        self._layout = Layout(text)
        self._habits = read_habits(text)
        self._candidates: dict[Finder, list[_Candidate]] = {}
        self._passed_over: dict[Finder, int] = {}

    def share_out(self, fields: Sequence[Sought]) -> list[Found | None]:
        """Find for each field the value that fits it best, the earliest of equals.

        The field with the best fit chooses first; a value that is chosen already loses some of its score for the
        others, so that two fields of one type share a value only where nothing else fits.
        """
        nearest = list(map(max, zip(*(field.likenesses for field in fields), strict=True)))
        scores = [self._scores(field, nearest) for field in fields]
        order = sorted(range(len(fields)), key=lambda i: (-max((s for s, _ in scores[i]), default=0.0), i))
        found: list[Found | None] = [None] * len(fields)
        taken: set[str] = set()
        for index in order:
            if choice := _best(scores[index], taken):
                found[index] = replace(choice, passed_over=self._passed_over[fields[index].finder])
                taken.add(choice.value.value)
        return found

    def _scores(self, field: Sought, nearest: Sequence[float]) -> list[tuple[float, Value]]:
        """Each value of the field's type and how well it fits, taken or not."""
        scored = []
        for candidate in self._of(field.finder, nearest):
            value, name = candidate.value, field.naming.share(candidate.present)
            if field.finder is VALUES["text"] and field.naming.is_name(value.value):
                continue
            if field.finder is VALUES["text"] and (label := field.naming.label(self._text, value.start, value.end)):
                rest = self._text[value.start + label : value.end]
                value, name = replace(value, start=value.start + label, value=" ".join(rest.split())), 1.0
            fit = MEANING * max(0.0, field.likenesses[candidate.passage]) + (1 - MEANING) * name
            fit += EARLY * max(0.0, 1.0 - value.start / EARLY_REACH) - (0.0 if value.sure else UNSURE)
            scored.append((field.telling + (1 - field.telling) * max(0.0, min(1.0, fit)), value))
        return scored

    def _of(self, finder: Finder, nearest: Sequence[float]) -> list[_Candidate]:
        """The values of a type; `nearest` is the likeness of each passage to the field it is most like."""
        if finder not in self._candidates:
            values = [value for value in finder(self._text, self._habits) if not self._in_label(value.start)]
            kept = self._nearest(values, nearest) if len(values) > MOST_VALUES else values
            self._passed_over[finder] = len(values) - len(kept)
            self._candidates[finder] = [self._placed(value, finder) for value in kept]
        return self._candidates[finder]

    def _in_label(self, at: int) -> bool:
        index = bisect_right(self._label_starts, at) - 1
        return index >= 0 and at < self._labels[index].end

    def _nearest(self, values: Sequence[Value], nearest: Sequence[float]) -> list[Value]:
        """The first MOST_VALUES of the values by the likeness of their passages, in their order in the text."""
        likeness = [nearest[bisect_right(self._starts, value.start) - 1] for value in values]
        order = sorted(range(len(values)), key=lambda index: (-likeness[index], index))
        return [values[index] for index in sorted(order[:MOST_VALUES])]

    def _placed(self, value: Value, finder: Finder) -> _Candidate:
        """The value with the words around it; a short passage before a text is its heading."""
        index = bisect_right(self._starts, value.start) - 1
        passage = self._passages[index]
        around = self._layout.around(value.start, value.end, passage)
        if finder is VALUES["text"] and not around.above and index and value.start == passage.start:
            heading = self._passages[index - 1]
            if heading.end - heading.start <= HEADING:
                around = replace(around, above=words(self._text[heading.start : heading.end]))
        return _Candidate(value, index, self._vocabulary.present(around))


def _best(scores: Sequence[tuple[float, Value]], taken: Collection[str]) -> Found | None:
    """The earliest of the values that fit best, with its score, which is less for one that another field has."""
    left = [Found(value, round(max(0.0, score - TAKEN * (value.value in taken)), 6)) for score, value in scores]
    best = max((found.score for found in left), default=0.0)
    return next((found for found in left if found.score >= best - EQUAL), None)
