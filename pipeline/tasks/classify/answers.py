"""The answers of the task, by meaning, by a head, by a model's own labels, and by the probabilities of words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, fsum
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray

import engine
from pipeline.document import Parsed, Span
from pipeline.tasks import prompts
from pipeline.tasks.asking import Asker, check, parsed, place
from pipeline.tasks.base import Answer, Dialogue, TaskRefusedError
from pipeline.tasks.classify.head import Classifier, Prior
from pipeline.tasks.features import AGAIN, mean
from pipeline.tasks.kinds import Answerer, Embedder, Headed, Ids, Writer, Writing
from pipeline.tasks.meanings import Meanings, called
from pipeline.tasks.passages import cut, paragraphs, passages, room, windows_of
from pipeline.tasks.risk import Accept, Bar
from pipeline.tasks.settings import Key, Settings, Text

EVIDENCE: Final = 3  # places, at most
FIRST: Final = 4  # passages among which a title is looked for
BEST: Final = 3  # passages that speak for a label
SCALE: Final = 20.0  # of likenesses in the softmax: what sentence encoders are trained with
NONE_OF_THEM: Final = 0.25  # the likeness to no label
QUOTE: Final = 320  # characters of the passage that is quoted for a label
_QUOTED: Final = {
    "type": "object",
    "properties": {"quote": {"type": "string", "minLength": 1, "maxLength": QUOTE}},
    "required": ["quote"],
    "additionalProperties": False,
}
NOTHING: Final = Answer({"label": None, "score": None, "scores": []}, abstained=True, reason="no text")


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
class Ranked:
    """The columns of a row that is classified, the index of its best label, and its score; `reason`: why the best label
    is not given, None where it is."""

    columns: dict[str, Any]
    best: int
    score: float
    reason: str | None

    def answer(
        self, document: Parsed, spans: Sequence[Span], evidence: Sequence[int], review: str | None = None
    ) -> Answer:
        """The answer, with the spans of these numbers as its evidence."""
        places = [document.evidence(spans[i].start, spans[i].end) for i in evidence]
        return Answer(self.columns, places, abstained=self.reason is not None, reason=self.reason, review=review)


def ranked(labels: Sequence[str], probabilities: Sequence[float], threshold: float) -> Ranked:
    """The labels with their probabilities, the best first; one below the threshold is not given. Of equal ones the
    first label is the best."""
    scores = [round(one, 6) for one in probabilities]
    order = surest(scores)
    best, score = order[0], scores[order[0]]
    low = f"the best label, {labels[best]}, scored {score:.3f}, less than {threshold:g}" if score < threshold else None
    listed = [{"label": labels[i], "score": scores[i]} for i in order]
    return Ranked({"label": None if low else labels[best], "score": score, "scores": listed}, best, score, low)


def surest(scores: Sequence[float]) -> list[int]:
    """The indexes of the scores, the highest first, of equal ones the first."""
    return sorted(range(len(scores)), key=lambda index: (-scores[index], index))


class ByMeaning:
    """The task on a model that embeds; the vectors of the labels' texts are made once."""

    def __init__(self, labels: Sequence[Label], threshold: float, model: Embedder) -> None:
        self._names, self._threshold, self._model = [label.name for label in labels], threshold, model
        self._meanings = Meanings([label.texts for label in labels], model)

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        if not spans:
            return NOTHING
        likenesses = self._meanings.likenesses(vectors)
        row = np.array([[*map(_likeness, likenesses), NONE_OF_THEM]], dtype=np.float32)
        shares = engine.softmax(row, SCALE)[0].tolist()[:-1]
        found = ranked(self._names, shares, self._threshold)
        return found.answer(document, spans, _speakers(likenesses[found.best]))


def _likeness(likenesses: Sequence[float]) -> float:
    """A document's likeness to a label from those of its passages, in their order."""
    top = sorted(likenesses, reverse=True)[:BEST]
    return (max(likenesses[:FIRST]) + fsum(top) / len(top)) / 2  # sum() rounds differently since Python 3.12


def _speakers(likenesses: Sequence[float]) -> list[int]:
    """The passages from which the likeness came, the most similar first."""
    order, title = surest(likenesses), surest(likenesses[:FIRST])[0]
    return [index for index in order if index in {*order[:BEST], title}]


class Learned:
    """The task on a model that embeds, answered by a classifier; an answer whose score is below the bar of its label
    is for review."""

    def __init__(self, classifier: Classifier, model: Embedder, threshold: float, bars: Mapping[str, Bar]) -> None:
        self._classifier, self._model, self._threshold, self._bars = classifier, model, threshold, bars

    def spans(self, document: Parsed) -> list[Span]:
        return paragraphs(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        if not spans:
            return NOTHING
        view, logistic = self._classifier.view, self._classifier.logistic
        shares = self._classifier.probabilities(mean(vectors)[None], [document.text])[0].tolist()
        found = ranked(self._classifier.labels, shares, self._threshold)
        said = logistic.logits(view.vectors(vectors))[:, found.best].tolist()
        review = None if found.reason else self._review(self._classifier.labels[found.best], found.score)
        return found.answer(document, spans, sorted(surest(said)[:EVIDENCE]), review)

    def _review(self, label: str, score: float) -> str | None:
        bar = self._bars.get(label)
        if bar is None or score >= bar.score:
            return None
        return f"{label} scored {score:.3f}; at most {bar.risk:.2%} are wrong from {bar.score:.3f} on"


def check_labels(found: Sequence[str], labels: Sequence[str]) -> None:
    """TaskRefusedError unless a head knows these labels in this order."""
    if tuple(found) != tuple(labels):
        others = [*(set(found) ^ set(labels)), "their order"][0]
        raise TaskRefusedError(f"its head was learned for other labels ({others}); {AGAIN}")


TRAINED_TOKENS: Final = 512  # what classifiers are trained on, however large their context is

Said = tuple[int, NDArray[np.float32]]
"""The tokens of a window, and its logits, float32 [labels]."""


def check_own_labels(head: "engine.Head") -> None:
    """TaskRefusedError unless a head chooses among labels."""
    if head.scores == "none":
        raise TaskRefusedError("its head computes numbers (cloister.head.scores: none), not scores of labels")
    if len(head.labels) < 2:
        raise TaskRefusedError(f"its head has {len(head.labels)} label, expected at least 2: it ranks texts")
    twice = [label for index, label in enumerate(head.labels) if label in head.labels[:index]]
    if twice:
        raise TaskRefusedError(f"its head has the label {twice[0]!r:.80} twice")


class OwnLabels:
    """The task on a model that classifies texts.

    Its logits are the mean of those of the windows of a document, each weighted by its tokens. The evidence is the
    windows whose own score for the label is highest.
    """

    def __init__(self, model: Headed, threshold: float) -> None:
        self._model, self._threshold = model, threshold

    def spans(self, document: Parsed) -> list[Span]:
        return windows_of(document, self._model, min(self._model.context, TRAINED_TOKENS))

    def read(self, texts: Sequence[str]) -> list[Said]:
        return list(zip(self._model.count_tokens(texts), self._model.logits(texts), strict=True))

    def answer(self, document: Parsed, spans: Sequence[Span], said: Sequence[Said]) -> Answer:
        if not spans:
            return NOTHING
        found = ranked(self._model.labels, self._model.scores(together(said))[0].tolist(), self._threshold)
        each = self._model.scores(np.stack([logits for _, logits in said]))[:, found.best].tolist()
        return found.answer(document, spans, sorted(surest(each)[:EVIDENCE]))


def together(said: Sequence[Said]) -> NDArray[np.float32]:
    """float32 [1, labels]: the mean of the logits, by tokens. Products of a float32 and a count are exact in Python's
    floats, so the mean of one window is its logits."""
    total = sum(tokens for tokens, _ in said)
    weighted = ([tokens * logit for logit in logits.tolist()] for tokens, logits in said)
    return np.array([[fsum(column) / total for column in zip(*weighted, strict=True)]], np.float32)


NONE: Final = "none of these"
LEAST: Final = 1e-9  # how well a label is liked: what is never answered to nothing can still be divided by it


class Options:
    """Asks one model which label a text has. `names`: those of the labels, and that of none of them."""

    def __init__(self, labels: Sequence[Label], model: Writer, writing: Writing) -> None:
        """TaskRefusedError where the labels leave no room for a document."""
        names = [label.name for label in labels]
        none = NONE
        while none in names:
            none = f"({none})"
        self.names = [*names, none]
        told = [(label.name, label.description, label.examples) for label in labels]
        self.asked = partial(prompts.classify, told, self.names[-1])
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


def mean_shares(each: Sequence[Sequence[float]], tokens: Sequence[int]) -> list[float]:
    """The mean of the options' probabilities over the windows of a document, by their tokens."""
    total = sum(tokens)
    return [
        fsum(share * count for share, count in zip(option, tokens, strict=True)) / total
        for option in zip(*each, strict=True)
    ]


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


class ByProbability:
    """The task on a model that writes; with a prior where one was learned."""

    def __init__(
        self, labels: Sequence[Label], threshold: float, model: Writer, writing: Writing, prior: Prior | None = None,
        *, calibrate: bool = False,
    ) -> None:  # fmt: skip
        self._threshold, self._prior = threshold, prior
        self._ask = Asker(model, writing)
        self._options = Options(labels, model, writing)
        self._liked: Sequence[float] = ()
        if calibrate and isinstance(model, Answerer):  # else only its words are looked at: no document comes
            ((_, completion),) = model.generate([self._options.request("")])
            self._liked = self._options.liked(completion)

    def dialogue(self, document: Parsed) -> Dialogue:
        read = cut(document, self._ask.model, self._options.room)
        if not read:
            return NOTHING
        texts = [document.text[window.span.start : window.span.end] for window in read]
        completions = yield [self._options.request(text) for text in texts]
        each, scores = self._scores(completions, [window.tokens for window in read])
        found = ranked(self._options.names[:-1], scores[:-1], self._threshold)
        if found.reason:
            return Answer(found.columns, abstained=True, reason=found.reason, windows=read)
        speaker = max(range(len(read)), key=lambda index: (each[index][found.best], -index))
        asked = prompts.classify_quote(self._options.asked(texts[speaker]), self._options.names[found.best])
        (completion,) = yield [self._ask.of_schema(asked, _QUOTED, {"/properties/quote": texts[speaker]})]
        if completion.finish != "stopped":  # the label does not hang on it
            return Answer(found.columns, windows=read)
        at = place(document, read[speaker], parsed(completion)["quote"])
        return Answer(found.columns, [at] if at else (), windows=read)

    def _scores(
        self, completions: Sequence[engine.Completion], tokens: Sequence[int]
    ) -> tuple[list[list[float]], list[float]]:
        if self._prior is None:
            each = [self._options.shares(completion, self._liked) for completion in completions]
            return each, mean_shares(each, tokens)
        shares = [self._options.exact_shares(completion) for completion in completions]
        return [self._prior.scores(one) for one in shares], self._prior.scores(mean_shares(shares, tokens))
