"""A learned head of fields: which candidate in a document is the value of a field, and how probably it is right.

A candidate is judged by the vector of its passage and by words that say what stands in, around and above it and where
(`candidates.py`): a logistic regression for each field. The candidate with the best logit is the value; the probability
that it is right was learned from documents that the head had not seen (Platt 1999), and so was how probable it must be
to be given.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.heads import HeadFile
from pipeline.tasks.base import TaskRefusedError
from pipeline.tasks.extract.candidates import Candidate
from pipeline.tasks.extract.fields import Field, Found, Sought
from pipeline.tasks.features import AGAIN, Vectors, bags_of, check_kind, check_shapes, read_as

KIND: Final = "extract"
NEARNESS: Final = 4.0  # what a cosine counts beside a vector of length 1
THRESHOLD: Final = 0.35  # of a head that has learned none, and of further values: pipeline/DECISIONS.md
MOST: Final = 50  # values of a field that may have several
_LOOKED_AT: Final = 1000  # candidates among which they are


@dataclass(frozen=True)
class Least:
    """From which scores on the values of a field are given: the best one, and, if it may have `many`, further ones, of
    which none is given without the best. `further` is never learned from examples."""

    best: float
    further: float
    many: bool


@dataclass(frozen=True)
class View:
    """The features of a passage: its vector minus `centre`, times `scale`, and how near it is in meaning to the name
    and description of each field, whose vectors are `meanings` float32 [fields, d]."""

    centre: Vectors
    scale: float
    meanings: Vectors

    def seen(self, vectors: Vectors) -> Vectors:
        """float32 [n, d + fields] of vectors [n, d]."""
        near = engine.similarity(vectors, self.meanings) * np.float32(NEARNESS)
        return np.concatenate([(vectors - self.centre) * np.float32(self.scale), near], axis=1)


@dataclass(frozen=True)
class FieldsHead:
    """Weights of what is seen float32 [d + fields, fields], of words [words, fields] and a bias, which give the logits
    of candidates; and for each field the level and the slope of the log-odds that the best candidate is right, by its
    logit, and the probability below which it is not given unless the job says another."""

    fields: tuple[Sought, ...]
    view: View
    words: tuple[str, ...]
    logistic: "engine.Logistic"
    levels: tuple[float, ...]
    slopes: tuple[float, ...]
    thresholds: tuple[float, ...]

    def logits(self, vectors: Vectors, candidates: Sequence[Candidate], words: Iterable[Iterable[str]]) -> Vectors:
        """float32 [candidates, fields], from the vectors of a document's passages [passages, d]."""
        bags = bags_of(words, {word: number for number, word in enumerate(self.words)})
        passages = [candidate.passage for candidate in candidates]
        return self.logistic.logits(self.view.seen(vectors)[passages], bags)

    def probability(self, field: int, logit: float) -> float:
        """The probability that the best candidate of a document is the field's value."""
        odds = self.levels[field] + self.slopes[field] * logit
        return float(engine.softmax(np.array([[0.0, odds]], np.float32), 1.0)[0, 1])

    def least(self, field: int, said: float | None, many: bool) -> Least:
        """From which scores on the values of a field are given, of which the job says a threshold, or none."""
        if said is None:
            return Least(self.thresholds[field], THRESHOLD, many)
        return Least(said, said, many)

    def to_file(self) -> HeadFile:
        """The file of this head."""
        numbers = zip(self.levels, self.slopes, self.thresholds, strict=True)
        fields = [
            {"name": field.name, "type": field.type, "pattern": field.pattern, "level": level, "slope": slope,
             "threshold": threshold}
            for field, (level, slope, threshold) in zip(self.fields, numbers, strict=True)
        ]  # fmt: skip
        own: dict[str, Any] = {"kind": KIND, "fields": fields, "scale": self.view.scale, "words": list(self.words)}
        arrays: dict[str, NDArray[Any]] = {
            "centre": self.view.centre, "meanings": self.view.meanings,
            "weights": self.logistic.weights.astype(np.float16),
            "word_weights": self.logistic.words.astype(np.float16), "bias": self.logistic.bias,
        }  # fmt: skip
        return HeadFile(own, arrays)

    @classmethod
    def from_file(cls, head: HeadFile) -> Self:
        """The inverse of `to_file`. ValueError, KeyError and TypeError for a file whose parts do not go together."""
        facts, arrays = head.facts, head.arrays
        check_kind(head, KIND)
        fields = [(Sought(each["name"], each["type"], each["pattern"]), each) for each in facts["fields"]]
        (d,), count, words = arrays["centre"].shape, len(fields), tuple(map(str, facts["words"]))
        shapes = {"meanings": (count, d), "weights": (d + count, count), "word_weights": (len(words), count)}
        check_shapes(head, {**shapes, "bias": (count,)})
        parts = (arrays[name].astype(np.float32) for name in ("weights", "word_weights", "bias"))
        levels, slopes = (tuple(float(each[name]) for _, each in fields) for name in ("level", "slope"))
        thresholds = tuple(float(each.get("threshold", THRESHOLD)) for _, each in fields)
        sought = tuple(field for field, _ in fields)
        view = View(arrays["centre"], float(facts["scale"]), arrays["meanings"])
        return cls(sought, view, words, engine.Logistic(*parts), levels, slopes, thresholds)


def distinct(candidates: Sequence[Candidate], logits: Vectors) -> Iterator[int]:
    """Which candidates are the values of a field, from the best logit to the worst: those that neither overlap one
    before them nor say the same. `logits`: float32 [candidates]."""
    chosen, known = list[Candidate](), set[str]()
    for row in np.argsort(-logits, kind="stable")[:_LOOKED_AT].tolist():
        value = candidates[row].value
        said = "".join(char for char in value.value.lower() if char.isalnum())
        apart = all(value.end <= one.value.start or one.value.end <= value.start for one in chosen)
        if apart and said not in known:
            chosen.append(candidates[row])
            known.add(said)
            yield row


def fields_of(head: HeadFile, asked: Sequence[Field]) -> FieldsHead:
    """The head in a file. TaskRefusedError if it is none, or does not know one of the fields."""
    found = read_as(FieldsHead.from_file, head)
    known = {one.name: one for one in found.fields}
    for one in (field.known for field in asked):
        if one.name not in known:
            told = f"its head knows no field {one.name!r}, but {', '.join(known)}; {AGAIN}, or leave the field out"
            raise TaskRefusedError(told)
        if (its := known[one.name]) != one:
            told = f"its head was learned for the field {one.name!r} of type {its.pattern or its.type}"
            raise TaskRefusedError(f"{told}, not {one.pattern or one.type}; {AGAIN}, or give the field that type")
    return found


def columns_of(head: FieldsHead, asked: Sequence[Field]) -> list[int]:
    """The columns of fields in a head."""
    names = [field.name for field in head.fields]
    return [names.index(one.name) for one in asked]


def least_of(head: FieldsHead, asked: Sequence[Field]) -> list[Least]:
    """From which scores on the values of each field are given."""
    each = zip(columns_of(head, asked), asked, strict=True)
    return [head.least(column, one.threshold, one.many) for column, one in each]


def given(found: Sequence[Found], least: Least) -> Sequence[Found]:
    """The values that are given of those that were found for a field: all, or none if the best scores too little."""
    return found if max((one.score for one in found), default=0.0) >= least.best else ()
