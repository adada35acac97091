"""The labels of a task, and one that stands for none of them, as answers of which a model that writes chooses one."""

from collections.abc import Sequence
from functools import partial
from math import exp, fsum
from typing import Final

import numpy as np

import engine
from pipeline.tasks.base import Ids, TaskRefusedError, Writer, Writing
from pipeline.tasks.writing import prompts
from pipeline.tasks.writing.answers import Asker, check
from pipeline.tasks.writing.windows import room

NONE: Final = "none of these"
LEAST: Final = 1e-9  # how well a label is liked: what is never answered to nothing can still be divided by it


class Options:
    """Asks one model which label a text has. `names`: those of the labels, and that of none of them."""

    def __init__(self, labels: Sequence[tuple[str, str, Sequence[str]]], model: Writer, writing: Writing) -> None:
        names = [name for name, _, _ in labels]
        self.names = [*names, _free(names)]
        self.asked = partial(prompts.classify, labels, self.names[-1])
        self.room = room(model, writing, lambda text: prompts.classify_quote(self.asked(text), max(names, key=len)))
        self._ask = Asker(model, writing)
        self._choices, self._of = choices([model.continuation(name) for name in self.names], model.end_ids)

    def request(self, text: str) -> engine.Request:
        """The request whose scores tell how probable each of the options is for a text."""
        return self._ask.of_choices(self.asked(text), self._choices)

    def liked(self, completion: engine.Completion) -> list[float]:
        """How often the labels are answered to nothing, beside what would be usual, 1; that of no label, the last, is
        1."""
        if completion.finish == "failed":
            raise TaskRefusedError(f"the labels cannot be weighed: {completion.reason}")
        labels = self.shares(completion)[:-1]
        total = fsum(labels)
        return [*(max(share * len(labels) / total, LEAST) if total else 1.0 for share in labels), 1.0]

    def shares(self, completion: engine.Completion, liked: Sequence[float] = ()) -> list[float]:
        """The probabilities of the options, each divided by how well it is liked, made to sum to 1."""
        check(completion)
        scores = completion.scores.tolist()
        weights = [0.0] * len(self.names)
        for index, score in zip(self._of, scores, strict=True):
            weights[index] += exp(score - max(scores)) / (liked[index] if liked else 1.0)
        total = fsum(weights)
        return [weight / total for weight in weights]

    def exact_shares(self, completion: engine.Completion) -> list[float]:
        """The probabilities of the options with the same bits on every machine, as heads are learned from them."""
        check(completion)
        each = engine.softmax(completion.scores.astype(np.float32)[None], 1.0)[0].tolist()
        return [
            fsum(share for share, of in zip(each, self._of, strict=True) if of == i) for i in range(len(self.names))
        ]


def mean(each: Sequence[Sequence[float]], tokens: Sequence[int]) -> list[float]:
    """The mean of the options' probabilities over the windows of a document, by their tokens."""
    total = sum(tokens)
    return [
        fsum(share * count for share, count in zip(option, tokens, strict=True)) / total
        for option in zip(*each, strict=True)
    ]


def _free(names: Sequence[str]) -> str:
    """The name that stands for no label, and is the name of none."""
    none = NONE
    while none in names:
        none = f"({none})"
    return none


def choices(options: Sequence[Ids], ends: Sequence[int]) -> tuple[list[Ids], list[int]]:
    """The beginnings of an answer, and for each of them the index of its option. An option with which another one
    begins is told from it by what ends an answer: it has one of these for each token that does."""
    found, of = list[Ids](), list[int]()
    for index, ids in enumerate(options):
        begins = any(
            other is not ids and other.size >= ids.size and (other[: ids.size] == ids).all() for other in options
        )
        several = [np.append(ids, np.int32(end)) for end in ends] if begins else [ids]
        found += several
        of += [index] * len(several)
    return found, of
