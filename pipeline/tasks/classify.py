"""Classify: the label that fits a document best, each label with a score.

On a model that embeds: the label whose description and examples are nearest in meaning to what a document says. A
passage is as like a label as it is to the nearest of the label's texts: its name with description, and each example. A
document is as like a label as the mean of two: the most similar of its first four passages, where titles stand, and the
mean of the three most similar anywhere. Scores are a softmax over the labels and a likeness of 0.25 that stands for
"none of them"; pipeline/DECISIONS.md has the measurements behind these numbers.

With a head that was learned from examples (`cloister learn`): the label that the head finds most probable, by the mean
of the passages' vectors and perhaps by the words; its score is how often such an answer was right. `accept` sends the
answers to review of which too many could be wrong (pipeline/heads/risk.py).

On a model that classifies texts itself, with `labels: from_model`: its own labels, by its outputs over the windows of
the document (`own/labels.py`).

On a model that writes: the label that it would answer, by the exact probability of each. Nothing is written and nothing
is parsed. The probabilities of the labels, and of a further one that stands for "none of them", are made to sum to 1. A
small model likes some names better than others whatever it reads: with a prior that was learned (`cloister learn`) each
label's probability is divided by its mean over the documents that were learned from, with `calibrate` by its share for
a document of nothing, which is asked for once a run. A document that is read in windows has the mean of their
probabilities, each window by its tokens. The evidence is the passage that the model, asked once more, quotes for the
label.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import engine
from pipeline.document import Evidence, Parsed, Span
from pipeline.heads import prior
from pipeline.heads.file import HeadFile
from pipeline.heads.prior import Prior
from pipeline.tasks.base import (
    SEQUENCE,
    Answer,
    Answerer,
    Dialogue,
    Embedder,
    Headed,
    Line,
    Task,
    TaskRefusedError,
    Window,
    Writer,
    Writing,
)
from pipeline.tasks.embedding.accepted import Accept, Promised, bars_of, in_words, promises, without_accept
from pipeline.tasks.embedding.learned import Learned, check_labels, classifier_of
from pipeline.tasks.embedding.meanings import Meanings, called
from pipeline.tasks.embedding.passages import passages
from pipeline.tasks.own.labels import OwnLabels, check_own_labels
from pipeline.tasks.settings import FROM_MODEL, Key, Settings, Steps, Text, check_unique
from pipeline.tasks.writing import prompts
from pipeline.tasks.writing.answers import Asker, parsed
from pipeline.tasks.writing.options import Options, mean
from pipeline.tasks.writing.places import place
from pipeline.tasks.writing.windows import cut

FIRST: Final = 4  # passages among which a title is looked for
BEST: Final = 3  # passages that speak for a label
SCALE: Final = 20.0  # of likenesses in the softmax: what sentence encoders are trained with
NONE_OF_THEM: Final = 0.25  # the likeness to no label
CALIBRATED: Final = 1.5  # times what each of the labels, and none of them, would have if all were as probable
QUOTE: Final = 320  # characters of the passage that is quoted for a label
_EVIDENCE: Final = {
    "type": "object",
    "properties": {"quote": {"type": "string", "minLength": 1, "maxLength": QUOTE}},
    "required": ["quote"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Label(Settings):
    """A class of documents."""

    name: Annotated[Text, Key("the label as it stands in the result")]
    description: Annotated[str, Key("what such a document is, in a sentence; it is compared by meaning")] = ""
    examples: Annotated[tuple[Text, ...], Key("texts of such documents, if there are any")] = ()
    accept: Annotated[
        Accept | None, Key("which answers with this label are accepted, instead of what the task says")
    ] = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that say what the label means, each to be embedded by itself."""
        return (called(self.name, self.description), *self.examples)


@dataclass(frozen=True)
class ClassifySettings(Task):
    """One label for each document."""

    labels: Annotated[
        tuple[Label, ...],
        Key(
            f"the labels, at least 2; {FROM_MODEL}: those of a model that classifies texts itself",
            least=2,
            word=FROM_MODEL,
        ),
    ]
    threshold: Annotated[
        float,
        Key(
            "a best score below it makes the document abstained; 0.3 if left out, "
            "with `calibrate` at most 1.5 / (labels + 1)",
            least=0,
            most=1,
            silent=True,
        ),
    ] = 0.3
    calibrate: Annotated[
        bool,
        Key("divide a label's probability by its share for an empty document: for small models that write"),
    ] = False
    accept: Annotated[
        Accept | None,
        Key("with a learned head: which answers are accepted; the others keep their label, for a person to review"),
    ] = None

    purpose: ClassVar[str] = "one label for each document"
    hints: ClassVar[Mapping[str, str]] = MappingProxyType(
        {SEQUENCE: f"write labels: {FROM_MODEL} into the task to use the model's own labels"}
    )
    columns: ClassVar[tuple[pa.Field, ...]] = (
        pa.field("label", pa.string()),
        pa.field("score", pa.float64()),
        pa.field("scores", pa.list_(pa.struct([("label", pa.string()), ("score", pa.float64())]))),
    )

    @classmethod
    def from_keys(cls, keys: Mapping[str, Any], model: str) -> Self:
        if keys.get("calibrate") and "threshold" not in keys:
            usual = round(CALIBRATED / (len(keys["labels"]) + 1), 3)
            return cls.from_json({**keys, "threshold": min(usual, cls.threshold)})
        return cls.from_json(keys)

    def check(self) -> None:
        check_unique((label.name for label in self.labels), "labels", "label")

    def in_words(self) -> str:
        return f"classify as {', '.join(label.name for label in self.labels) or 'the model does'}"

    @property
    def kinds(self) -> tuple[str, ...]:
        return super().kinds if self.labels else (SEQUENCE,)

    @property
    def variant(self) -> str:
        return "" if self.labels else f" with labels: {FROM_MODEL}"

    @property
    def writing_only(self) -> str | None:
        return "task.calibrate" if self.calibrate else None

    def on_embedding(self, model: Embedder) -> "_ByMeaning":
        return _ByMeaning(self, model)

    def to_json(self) -> dict[str, Any]:
        return without_accept(super().to_json())

    def check_own_head(self, head: "engine.Head") -> None:
        check_own_labels(head)

    def on_own_head(self, model: Headed) -> OwnLabels:
        return OwnLabels(model, self.threshold)

    def head_only(self) -> tuple[Steps, ...]:
        said = [("accept",)] if self.accept else []
        return (*said, *(("labels", index, "accept") for index, label in enumerate(self.labels) if label.accept))

    def check_head(self, head: HeadFile) -> None:
        if head.facts.get("kind") != prior.KIND:
            classifier_of(head, self._names)
            self._promises(head)
        elif self.head_only():
            raise TaskRefusedError("it knows how readily the model answers each label, and not how often answers are "
                                   "right: remove accept, or use a model that gives embeddings")  # fmt: skip
        elif self.calibrate:
            raise TaskRefusedError("it says how readily the model answers each label, as task.calibrate does: remove "
                                   "task.calibrate")  # fmt: skip
        else:
            _prior_of(head, self._names)

    def promises(self, head: HeadFile) -> Iterator[str]:
        return (in_words(promised, len(self.labels)) for promised in self._promises(head))

    def on_head(self, model: Embedder, head: HeadFile) -> Learned:
        classifier, bars = classifier_of(head, self._names), bars_of(self._promises(head))
        return Learned(classifier, model, self.threshold, bars)

    @property
    def _names(self) -> list[str]:
        return [label.name for label in self.labels]

    def _promises(self, head: HeadFile) -> list[Promised]:
        if not self.head_only():
            return []
        return promises(head, self._names, [label.accept for label in self.labels], self.accept, self.threshold)

    def on_writing(self, model: Writer, writing: Writing) -> "_ByProbability":
        return _ByProbability(self, model, writing)

    def on_prior(self, model: Writer, writing: Writing, head: HeadFile) -> "_ByProbability":
        return _ByProbability(self, model, writing, _prior_of(head, [label.name for label in self.labels]))

    @classmethod
    def lines(cls, row: Mapping[str, Any]) -> Iterator[Line]:
        if row.get("label") is not None:
            score = row["score"]  # None where a person gave the label
            yield Line("", row["label"] if score is None else f"{row['label']} ({score:.2f})")


class _ByMeaning:
    """The task on a model that embeds; the vectors of the labels' texts are made once."""

    def __init__(self, settings: ClassifySettings, model: Embedder) -> None:
        self._settings = settings
        self._model = model
        self._meanings = Meanings([label.texts for label in settings.labels], model)

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        if not spans:
            return Answer({"label": None, "score": None, "scores": []}, abstained=True, reason="no text")
        likenesses = self._meanings.likenesses(vectors)
        scores = _scores([_likeness(its) for its in likenesses])
        ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        best, score = ranked[0], scores[ranked[0]]
        name, threshold = self._settings.labels[best].name, self._settings.threshold
        abstained = score < threshold
        return Answer(
            columns={
                "label": None if abstained else name,
                "score": score,
                "scores": [{"label": self._settings.labels[i].name, "score": scores[i]} for i in ranked],
            },
            evidence=[document.evidence(spans[i].start, spans[i].end) for i in _speakers(likenesses[best])],
            abstained=abstained,
            reason=f"the best label, {name}, scored {score:.3f}, less than {threshold:g}" if abstained else None,
        )


def _likeness(likenesses: Sequence[float]) -> float:
    """A document's likeness to a label from those of its passages, in their order."""
    top = sorted(likenesses, reverse=True)[:BEST]
    return (max(likenesses[:FIRST]) + fsum(top) / len(top)) / 2  # sum() rounds differently since Python 3.12


def _speakers(likenesses: Sequence[float]) -> list[int]:
    """The passages from which the likeness came, the most similar first."""
    order = sorted(range(len(likenesses)), key=lambda index: (-likenesses[index], index))
    title = min(range(min(FIRST, len(likenesses))), key=lambda index: (-likenesses[index], index))
    return [index for index in order if index in {*order[:BEST], title}]


def _scores(likenesses: Sequence[float]) -> list[float]:
    """One score a label, from 0 to 1; with the one of "none of them" they sum to 1."""
    row = np.array([[*likenesses, NONE_OF_THEM]], dtype=np.float32)
    return [round(score, 6) for score in engine.softmax(row, SCALE)[0].tolist()[:-1]]


class _ByProbability:
    """The task on a model that writes; with a prior where one was learned."""

    def __init__(self, settings: ClassifySettings, model: Writer, writing: Writing, prior: Prior | None = None) -> None:
        self._settings, self._prior = settings, prior
        self._ask = Asker(model, writing)
        self._options = options_of(settings, model, writing)
        self._liked: Sequence[float] = ()
        if settings.calibrate and isinstance(model, Answerer):  # else only its words are looked at: no document comes
            ((_, completion),) = model.generate([self._options.request("")])
            self._liked = self._options.liked(completion)

    def dialogue(self, document: Parsed) -> Dialogue:
        read = cut(document, self._ask.model, self._options.room)
        if not read:
            return Answer({"label": None, "score": None, "scores": []}, abstained=True, reason="no text")
        texts = [document.text[window.span.start : window.span.end] for window in read]
        completions = yield [self._options.request(text) for text in texts]
        each, scores = self._scores(completions, [window.tokens for window in read])
        ranked = sorted(range(len(scores) - 1), key=lambda index: (-scores[index], index))
        best, threshold, names = ranked[0], self._settings.threshold, self._options.names
        columns = {
            "label": names[best],
            "score": scores[best],
            "scores": [{"label": names[i], "score": scores[i]} for i in ranked],
        }
        if scores[best] < threshold:
            reason = f"the best label, {names[best]}, scored {scores[best]:.3f}, less than {threshold:g}"
            return Answer(columns | {"label": None}, abstained=True, reason=reason, windows=read)
        speaker = max(range(len(read)), key=lambda index: (each[index][best], -index))
        (completion,) = yield [self._quote(texts[speaker], names[best])]
        return Answer(columns, _evidence(document, read[speaker], completion), windows=read)

    def _scores(
        self, completions: Sequence[engine.Completion], tokens: Sequence[int]
    ) -> tuple[list[list[float]], list[float]]:
        """The scores of the options in each window, and of the whole document."""
        if self._prior is None:
            each = [self._options.shares(completion, self._liked) for completion in completions]
            return each, [round(score, 6) for score in mean(each, tokens)]
        shares = [self._options.exact_shares(completion) for completion in completions]
        whole = self._prior.scores(mean(shares, tokens))
        return [self._prior.scores(one) for one in shares], [round(score, 6) for score in whole]

    def _quote(self, text: str, label: str) -> engine.Request:
        messages = prompts.classify_quote(self._options.asked(text), label)
        return self._ask.of_schema(messages, _EVIDENCE, {"/properties/quote": text})


def options_of(settings: ClassifySettings, model: Writer, writing: Writing) -> Options:
    """The labels as answers of a model that writes. TaskRefusedError where they leave no room for a document."""
    return Options([(label.name, label.description, label.examples) for label in settings.labels], model, writing)


def _prior_of(head: HeadFile, labels: Sequence[str]) -> Prior:
    """The prior in a head's file. TaskRefusedError if it is none, or knows other labels than these."""
    try:
        found = Prior.from_file(head)
    except (ValueError, KeyError, TypeError) as error:
        raise TaskRefusedError(f"its head cannot be used: {error}; learn it again with `cloister learn`") from error
    check_labels(found.labels, labels)
    return found


def _evidence(document: Parsed, window: Window, completion: engine.Completion) -> list[Evidence]:
    """The passage; none where the model did not come to its end: the label does not hang on it."""
    if completion.finish != "stopped":
        return []
    found = place(document, window, parsed(completion)["quote"])
    return [found] if found else []
