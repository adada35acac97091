"""Classify: the label that the model would answer, by the exact probability of each.

Nothing is written and nothing is parsed. The probabilities of the labels, and of a further one that stands for "none of
them", are made to sum to 1. A small model likes some names better than others whatever it reads: with `calibrate` each
label's probability is divided by its share among the labels for a document of nothing, which is asked for once a run. A
document that is read in windows has the mean of their probabilities, each window by its tokens. The evidence is the
passage that the model, asked once more, quotes for the label.
"""

from collections.abc import Sequence
from functools import partial
from math import exp, fsum
from typing import Final

import numpy as np

import engine
from pipeline.document import Evidence, Parsed
from pipeline.tasks.base import Answer, Answerer, Dialogue, Ids, TaskRefusedError, Window, Writer, Writing
from pipeline.tasks.classify import ClassifySettings
from pipeline.tasks.writing import prompts
from pipeline.tasks.writing.answers import Asker, check, parsed
from pipeline.tasks.writing.places import place
from pipeline.tasks.writing.windows import cut, room

NONE: Final = "none of these"
LEAST: Final = 1e-9  # how well a label is liked: what is never answered to nothing can still be divided by it
QUOTE: Final = 320  # characters of the passage that is quoted for a label
_EVIDENCE: Final = {
    "type": "object",
    "properties": {"quote": {"type": "string", "minLength": 1, "maxLength": QUOTE}},
    "required": ["quote"],
    "additionalProperties": False,
}


class Classify:
    """The task for one list of labels."""

    def __init__(self, settings: ClassifySettings, model: Writer, writing: Writing) -> None:
        self._settings = settings
        self._ask = Asker(model, writing)
        names = [label.name for label in settings.labels]
        self._options = [*names, _free(names)]
        told = [(label.name, label.description, label.examples) for label in settings.labels]
        self._choices, self._of = choices([model.continuation(name) for name in self._options], model.end_ids)
        self._asked = partial(prompts.classify, told, self._options[-1])
        self._room = room(model, writing, lambda text: prompts.classify_quote(self._asked(text), max(names, key=len)))
        self._liked: Sequence[float] = ()
        if settings.calibrate and isinstance(model, Answerer):  # else only its words are looked at: no document comes
            ((_, completion),) = model.generate([self._ask.of_choices(self._asked(""), self._choices)])
            self._liked = _liked(completion, self._of)

    def dialogue(self, document: Parsed) -> Dialogue:
        read = cut(document, self._ask.model, self._room)
        if not read:
            return Answer({"label": None, "score": None, "scores": []}, abstained=True, reason="no text")
        asked = [self._asked(document.text[window.span.start : window.span.end]) for window in read]
        completions = yield [self._ask.of_choices(messages, self._choices) for messages in asked]
        each = [_shares(completion, self._of, self._liked) for completion in completions]
        scores = _together(each, [window.tokens for window in read])
        ranked = sorted(range(len(scores) - 1), key=lambda index: (-scores[index], index))
        best, threshold = ranked[0], self._settings.threshold
        columns = {
            "label": self._options[best],
            "score": scores[best],
            "scores": [{"label": self._options[i], "score": scores[i]} for i in ranked],
        }
        if scores[best] < threshold:
            reason = f"the best label, {self._options[best]}, scored {scores[best]:.3f}, less than {threshold:g}"
            return Answer(columns | {"label": None}, abstained=True, reason=reason, windows=read)
        speaker = max(range(len(read)), key=lambda index: (each[index][best], -index))
        request = self._quote(asked[speaker], self._options[best], document, read[speaker])
        (completion,) = yield [request]
        return Answer(columns, _evidence(document, read[speaker], completion), windows=read)

    def _quote(self, asked: Sequence[prompts.Message], label: str, document: Parsed, window: Window) -> engine.Request:
        text = document.text[window.span.start : window.span.end]
        messages = prompts.classify_quote(asked, label)
        return self._ask.of_schema(messages, _EVIDENCE, {"/properties/quote": text})


def _free(names: Sequence[str]) -> str:
    """What stands for no label, and is none."""
    none = NONE
    while none in names:
        none = f"({none})"
    return none


def choices(options: Sequence[Ids], ends: Sequence[int]) -> tuple[list[Ids], list[int]]:
    """What an answer may begin with, and for each of these the index of its option. An option with which another one
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


def _liked(completion: engine.Completion, of: Sequence[int]) -> list[float]:
    """How often the labels are answered to nothing, beside what would be usual, 1; that of no label, the last, is 1."""
    if completion.finish == "failed":
        raise TaskRefusedError(f"the labels cannot be weighed: {completion.reason}")
    labels = _shares(completion, of)[:-1]
    total = fsum(labels)
    return [*(max(share * len(labels) / total, LEAST) if total else 1.0 for share in labels), 1.0]


def _shares(completion: engine.Completion, of: Sequence[int], liked: Sequence[float] = ()) -> list[float]:
    """The probabilities of the options, each divided by how well it is liked, made to sum to 1."""
    check(completion)
    scores = completion.scores.tolist()
    weights = [0.0] * (max(of) + 1)
    for index, score in zip(of, scores, strict=True):
        weights[index] += exp(score - max(scores)) / (liked[index] if liked else 1.0)
    total = fsum(weights)
    return [weight / total for weight in weights]


def _together(each: Sequence[Sequence[float]], tokens: Sequence[int]) -> list[float]:
    """The mean over the windows by their tokens."""
    total = sum(tokens)
    return [
        round(fsum(share * count for share, count in zip(option, tokens, strict=True)) / total, 6)
        for option in zip(*each, strict=True)
    ]


def _evidence(document: Parsed, window: Window, completion: engine.Completion) -> list[Evidence]:
    """The passage; none where the model did not come to its end: the label does not hang on it."""
    if completion.finish != "stopped":
        return []
    found = place(document, window, parsed(completion)["quote"])
    return [found] if found else []
