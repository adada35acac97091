"""One document in which fields look for their values."""

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipeline.document import Span
from pipeline.tasks.labels import Phrase, named
from pipeline.tasks.layout import HEADING, Layout, Surroundings, words
from pipeline.values import VALUES, Finder, Value, read_habits

MEANING: Final = 0.5  # the weight of what the passage means, against how the words beside the value name the field
UNSURE: Final = 0.2  # what a value loses whose type the text alone does not show
LINE: Final = 120  # characters: a longer text is no line with a label
EARLY: Final = 0.1  # what a value at the very beginning gains, and none after so many characters
EARLY_REACH: Final = 3000
TAKEN: Final = 0.15  # what a value loses that another field fits better


# What follows a label; a text that goes on with these words is no value but the rest of a phrase.
_REST = r"[\W_]+(?!(?:and|or|of|is|are|shall|will|und|oder|der|des|ist|et|ou|de)\b)(?=\w)"


@dataclass(frozen=True)
class Sought:
    """A field in one document: how to find values of its type, what the field is called, and how near it is in meaning
    to each passage, as cosines; `telling` is what a value of the type is worth whatever stands beside it.
    """

    finder: Finder
    called: Sequence[Phrase]
    likenesses: Sequence[float]
    telling: float


@dataclass(frozen=True)
class Found:
    """A value and how well it fits a field, from 0 to 1."""

    value: Value
    score: float


class Scene:
    """A text, its passages, and the values of each type in it, found once however many fields ask for them."""

    def __init__(self, text: str, passages: Sequence[Span]) -> None:
        self._text = text
        self._passages = passages
        self._starts = [span.start for span in passages]
        self._layout = Layout(text)
        self._habits = read_habits(text)
        self._values: dict[Finder, list[tuple[Value, Surroundings, int]]] = {}

    def share_out(self, fields: Sequence[Sought]) -> list[Found | None]:
        """For each field the value that fits it best, the earliest of equals.

        The field with the best fit chooses first; a value that is chosen already loses some of its score for the
        others, so that two fields of one type share a value only where nothing else fits.
        """
        scores = [self._scores(field) for field in fields]
        order = sorted(range(len(fields)), key=lambda i: (-max((s for s, _ in scores[i]), default=0.0), i))
        found: list[Found | None] = [None] * len(fields)
        taken: set[str] = set()
        for index in order:
            found[index] = choice = _best(scores[index], taken)
            if choice:
                taken.add(choice.value.value)
        return found

    def _scores(self, field: Sought) -> list[tuple[float, Value]]:
        """Each value of the field's type and how well it fits, taken or not."""
        scored = []
        for value, around, place in self._found_by(field.finder):
            name = named(field.called, around)
            if field.finder is VALUES["text"] and (rest := _without_label(value, self._text, field.called)):
                value, name = rest, 1.0
            fit = MEANING * max(0.0, field.likenesses[place]) + (1 - MEANING) * name
            fit += EARLY * max(0.0, 1.0 - value.start / EARLY_REACH) - (0.0 if value.sure else UNSURE)
            score = max(0.0, min(1.0, fit))
            scored.append((field.telling + (1 - field.telling) * score, value))
        return scored

    def _found_by(self, finder: Finder) -> list[tuple[Value, Surroundings, int]]:
        """Each value with its surroundings and the index of its passage."""
        if finder not in self._values:
            text = finder is VALUES["text"]
            self._values[finder] = [self._placed(value, text) for value in finder(self._text, self._habits)]
        return self._values[finder]

    def _placed(self, value: Value, text: bool) -> tuple[Value, Surroundings, int]:
        """What names a text may stand in its own words, or be a short passage before it."""
        place = bisect_right(self._starts, value.start) - 1
        passage = self._passages[place]
        around = self._layout.around(value.start, value.end, passage)
        if text and not around.above and place and value.start == passage.start:
            above = self._passages[place - 1]
            if above.end - above.start <= HEADING:
                around = replace(around, above=words(self._text[above.start : above.end]))
        return value, around, place


def _without_label(value: Value, text: str, called: Sequence[Phrase]) -> Value | None:
    """The rest of a line that begins with what the field is called, as in "Bill to Acme Ltd"; None for a sentence."""
    verbatim = text[value.start : value.end]
    if len(verbatim) > LINE or verbatim.endswith((".", "!", "?")):
        return None
    for phrase in sorted(called, key=len, reverse=True):
        label = re.match(r"[\W_]*" + r"[\W_]+".join(map(re.escape, phrase)) + _REST, verbatim, re.IGNORECASE)
        if label:
            rest = verbatim[label.end() :]
            return Value(value.start + label.end(), value.end, " ".join(rest.split()), value.note, value.sure)
    return None


def _best(scores: Sequence[tuple[float, Value]], taken: Collection[str]) -> Found | None:
    """The best value and its score, less for one that another field has."""
    best: Found | None = None
    for score, value in scores:
        score = round(max(0.0, score - TAKEN * (value.value in taken)), 6)
        if best is None or score > best.score:
            best = Found(value, score)
    return best
